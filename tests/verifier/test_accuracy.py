"""The report of estimates beside measurements."""

from pathlib import Path

import pytest

from kvplan.core.ledger import Interval
from kvplan.verifier import accuracy, files
from kvplan.verifier.accuracy import Row
from kvplan.verifier.record import Built, Device, Job, Phase, Record, Snapshot
from kvplan.verifier.term import Term
from tests.verifier.models import LLAMA

PARAMETER_BYTES = 10**6  # made up
RIGHT = Term("weights", "load", Interval(90, 110, 120), 100, 0)
WRONG = RIGHT._replace(measured_bytes=200)


def record(**changes: object) -> Record:
    memory = Snapshot(peak_allocated_bytes=PARAMETER_BYTES + 10**6, reserved_bytes=1, process_bytes=2)
    whole = Record(
        job=Job("tiny", LLAMA, "bfloat16", 24, 2, 20),
        outcome="ran",
        error=None,
        taken_at="2026-11-29T15:00:01Z",
        versions={},
        device=Device("cuda", "NVIDIA H200", "9.0", 1, 2),
        before=Snapshot(),
        model=Built("LlamaForCausalLM", "sdpa", 1, PARAMETER_BYTES, 0, 0.5),
        loaded=Snapshot(allocated_bytes=PARAMETER_BYTES),
        prefill=Phase(1, 0.25, 5, 0, memory),
        decode=Phase(4, 0.25, 5, 0, memory),
    )
    return whole._replace(**changes)  # type: ignore[arg-type]  # each by its name


def test_each_record_is_held_against_the_estimate_of_its_own_run(tmp_path: Path) -> None:
    files.write(record(), tmp_path)
    files.write(record(outcome="oom", error="out of memory", taken_at="later"), tmp_path)
    ran, failed = accuracy.recorded(tmp_path)
    assert ran.where == "NVIDIA H200"
    assert {"weights", "kv_cache", "peak", "total"} <= {term.term for term in ran.terms}
    assert (failed.terms, failed.problem) == ((), "out of memory")


def test_the_report_says_what_is_wrong_and_what_is_missing() -> None:
    row = Row("llama-2-7b", 4096, 8, "trace", (RIGHT, WRONG))
    text = accuracy.text([row], [])
    assert "No records in `reports/measurements` yet" in text
    assert "| llama-2-7b | 4,096 × 8 | trace | weights | load | 110 | 100 | +10.00 | yes |" in text
    assert "| 110 | 200 | -45.00 | no |" in text
    assert "out of memory" in accuracy.text([], [row._replace(terms=(), problem="out of memory")])


@pytest.mark.parametrize(("terms", "code"), [((RIGHT,), 0), ((WRONG,), 1)])
def test_a_wrong_term_of_a_trace_is_a_failure(
    terms: tuple[Term, ...], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(accuracy, "traced", lambda: iter([Row("tiny", 24, 2, "trace", terms)]))
    assert accuracy.main() == code
    assert "| tiny | 24 × 2 |" in capsys.readouterr().out


def test_traces_are_of_built_in_models(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def verified(model: str, *, ctx: int, batch: int, backend: str) -> object:
        asked.append((model, ctx, batch, backend))
        return type("Verified", (), {"terms": (RIGHT,)})

    monkeypatch.setattr(accuracy, "verify", verified)
    rows = list(accuracy.traced())
    assert asked[0] == ("llama-2-7b", 4096, 8, "trace")
    assert rows[0] == Row("llama-2-7b", 4096, 8, "trace", (RIGHT,))
    assert len(asked) == sum(len(points) for _, points in accuracy.POINTS)
