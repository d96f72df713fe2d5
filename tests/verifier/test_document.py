"""The keys of ``kvplan verify --json`` and what they hold."""

import json
from pathlib import Path

import pytest

from kvplan.render.verification import as_json
from kvplan.verifier.reconcile import reconcile
from kvplan.verifier.timings import Pass, summary
from kvplan.verifier.verification import Verification
from tests.verifier.test_calibration import measured

GOLDEN = Path(__file__).parent.parent / "cases" / "verify" / "shape.json"


def shape(value: object) -> object:
    """Keys and types; of a list, those of its first item."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value[:1]]
    return None if value is None else type(value).__name__


def full() -> Verification:
    """With every key filled that a run on a GPU fills."""
    found = measured()
    timings = summary([Pass(0.5, (0.25, 0.5)), Pass(0.75, (0.25, 0.25))], batch=8, n_warmup=1, build_s=0.5)
    record = found.record._replace(timings=timings)
    assert found.estimate
    return found._replace(record=record, terms=reconcile(found.estimate, record), uncached=record)


def test_the_shape_is_pinned(request: pytest.FixtureRequest) -> None:
    found = shape(as_json(full()))
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_what_was_not_measured_keeps_its_keys() -> None:
    whole, bare = as_json(full()), as_json(measured())
    assert list(whole) == list(bare)
    assert (bare["timings"], bare["no_cache"]) == (None, None)
