"""Versions of vLLM as data."""

import pytest

from kvplan.core.errors import RequestError
from kvplan.engines.vllm.rules import RULES, engine_rules, rules_for
from kvplan.engines.vllm.versions import VERSIONS, release


def test_versions_and_rules_are_in_order() -> None:
    assert list(VERSIONS) == sorted(VERSIONS, key=release)
    assert [rules.since for rules in RULES] == sorted((rules.since for rules in RULES), key=release)
    assert all(rules.source for rules in RULES)


@pytest.mark.parametrize(
    ("field", "version", "before", "after"),
    [
        # what the notes on each release say changed there
        ("v1", "0.8.0", False, True),
        ("small_a100", "0.9.0", False, True),
        ("graph_step", "0.12.0", 8, 16),
        ("auto_fit", "0.14.0", False, True),
        ("async_scheduling", "0.14.0", False, True),
        ("mamba_cache", "0.15.0", "all", "either"),
        ("profile", "0.17.0", "0.9", "0.17"),
        ("estimates_graphs", "0.18.0", "never", "off"),
        ("estimates_graphs", "0.20.0", "off", "on"),
        ("gpu_memory_utilization", "0.20.0", 0.9, 0.92),
        ("tokens_by_concurrency", "0.20.2", False, True),
        ("runner", "0.24.0", "v1", "dense"),
        ("reserves_in_flight", "0.26.0", False, True),
        ("hybrid_prefix_caching", "0.26.0", False, True),
        ("large_gpu", "0.27.0", False, True),
        ("reserves_null_block", "0.29.0", False, True),
        ("runner", "0.29.0", "dense", "any"),
        ("yarn_from_original", "0.30.0", True, False),
        ("small_gb10", "0.33.0", False, True),
    ],
)
def test_what_changed_when(field: str, version: str, before: object, after: object) -> None:
    previous = VERSIONS[VERSIONS.index(version) - 1]
    assert (getattr(rules_for(previous)[0], field), getattr(rules_for(version)[0], field)) == (before, after)


def test_newer_versions_use_the_newest_rules_and_older_ones_are_refused() -> None:
    assert rules_for("0.34.0") == (RULES[-1], True)
    assert rules_for("1.0") == (RULES[-1], True)
    assert rules_for("0.33.7") == (RULES[-1], False)
    assert rules_for("v0.20.2.post1")[0].since == "0.20.2"
    assert release("0.21.0rc1") == (0, 21, 0)
    with pytest.raises(RequestError, match=r"older than the versions that are modeled \(0.6.0 to 0.33.0\)"):
        rules_for("0.5.5")
    with pytest.raises(RequestError, match="'latest' is not a version"):
        rules_for("latest")


@pytest.mark.parametrize(
    ("version", "asked", "v1"),
    [
        ("0.6.6", True, False),
        ("0.7.3", None, False),
        ("0.7.3", True, True),
        ("0.8.5", None, True),
        ("0.8.5", False, False),
        ("0.10.2", False, False),
        ("0.11.0", False, True),
    ],
)
def test_a_variable_chooses_the_engine_while_there_are_two(version: str, asked: bool | None, v1: bool) -> None:  # noqa: FBT001  # a row
    assert engine_rules(version, v1=asked).v1 is v1
