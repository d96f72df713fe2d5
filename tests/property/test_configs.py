"""Whatever stands in a config, the answer is a sane number or a refusal that names the file: never a crash, never a wait."""

import json
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvplan.core.errors import KvplanError
from kvplan.core.model import ModelSpec
from kvplan.estimator import Options, answer
from kvplan.render import json_
from kvplan.render.envelope import dumps
from kvplan.specs.build import build

CASES = Path(__file__).parent.parent / "data" / "families"
CONFIGS = [case["config"] for path in sorted(CASES.glob("*.json")) for case in json.loads(path.read_text())]
PATIENCE_S = 5.0  # what takes as long would take forever with a larger number

GONE = object()
NUMBERS = (0, -1, 1, 3, 10**9, 2**40, 10**30, 0.5, -0.5, 2.0, float("nan"), float("inf"), float("-inf"))
WORDS = ("", "x", "64", "full_attention", "\ud800", "\x1b[31m", "x" * 5000)
LISTS: tuple[object, ...] = ([], [1, 2, 3], ["x"], [None], [-1, -1], [True], [float("inf")] * 2, [[1], [2]], [{}], [0] * 5000)
MAPPINGS: tuple[object, ...] = ({}, {"a": {"b": [None, 1]}}, {"model_type": "llama"}, {"": {}})
DEEP = json.loads("[" * 60 + "]" * 60)
VALUES = st.sampled_from([GONE, None, True, False, *NUMBERS, *WORDS, *LISTS, *MAPPINGS, DEEP])


def paths(tree: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where every value of ``tree`` stands; of a long list only its first items."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree[:4]) if isinstance(tree, list) else ()
    return [path for key, value in inside for path in ((*above, key), *paths(value, (*above, key)))]


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, object]:
    """A config of which one or two values were lost or replaced."""
    config: dict[str, Any] = deepcopy(draw(st.sampled_from(CONFIGS)))
    for _ in range(draw(st.integers(1, 2))):
        *above, key = draw(st.sampled_from(paths(config) or [("model_type",)]))
        place: Any = config
        for step in above:
            place = place[step]
        value = draw(VALUES)
        if value is GONE:
            del place[key]
        else:
            place[key] = deepcopy(value)
        if not config:
            break
    return config


def check(spec: ModelSpec) -> None:
    """A model that can be: whole numbers, none of them below zero."""
    sizes = [size for group in spec.groups() for size in (group.rows, group.cols, group.n_copies)]
    assert all(type(size) is int and size >= 0 for size in sizes)
    assert 0 <= spec.n_active_params <= spec.n_params
    assert spec.n_params > 0


def understandable(error: KvplanError, *, where: str) -> None:
    assert where in error.message
    assert error.message.isprintable()
    assert len(error.message) <= 1100


@pytest.mark.parametrize("model_type", sorted({str(config["model_type"]) for config in CONFIGS}))
def test_a_config_of_a_type_alone(model_type: str) -> None:
    try:
        check(build({"model_type": model_type}, where="config.json"))
    except KvplanError as error:
        understandable(error, where="config.json")


@settings(max_examples=500)
@given(damaged())
def test_any_config_is_counted_or_refused(config: dict[str, object]) -> None:
    start = time.monotonic()
    try:
        check(build(config, where="config.json"))
    except KvplanError as error:
        understandable(error, where="config.json")
    assert time.monotonic() - start < PATIENCE_S


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged(), st.sampled_from([None, "h100-sxm", "h100-sxm:2"]), st.sampled_from([None, "1", "100", "32k"]))
def test_any_file_is_estimated_or_refused(tmp_path: Path, config: dict[str, object], gpu: str | None, ctx: str | None) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    start = time.monotonic()
    try:
        found = answer(Options(model=str(path), gpu=gpu, ctx=ctx, batch="3"))
    except KvplanError as error:
        understandable(error, where="config.json")
    else:
        check(found.model)
        json.loads(dumps(json_.estimate(found)), parse_constant=pytest.fail)
        for entry in found.entries:
            assert 0 <= entry.size.low <= entry.size.best <= entry.size.high
    assert time.monotonic() - start < PATIENCE_S
