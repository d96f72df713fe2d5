"""Every public log that was collected, written again in its engine's line formats: figures, outcome and cause come back."""

import json
from pathlib import Path

import pytest

from kvplan.explainer.explanation import Explanation, of_blocks
from tests.explainer.field_logs import Line, lines_of

OUTCOMES = {"ran": {"ran"}, "refused": {"refused"}, "OOM": {"oom"}}
CAUSES = (
    ("warming up sampler", "KV602"),
    ("graph capture", "KV603"),
    ("Free memory on device", "KV604"),
    ("creating MoE layers", "KV607"),
    ("Mamba cache blocks", "KV608"),
    ("page cache", "KV609"),
    ("negative KV", "KV609"),
    ("114688 encoder tokens", "KV606"),
    ("No available memory", "KV601"),
    ("max seq len", "KV600"),
    ("KV cache is needed", "KV600"),
    ("not divisible", "KV614"),
    ("does not recognize", "KV632"),
    ("out of bounds", "KV632"),
    ("in the profile run", "KV634"),
    ("OOM on V1 above", "KV634"),
    ("GGML_ASSERT", "KV632"),
    ("in service", "KV610"),
    ("after warm-up passed", "KV610"),
    ("OutOfMemoryError", "KV629"),
    ("CUDA out of memory reported", "KV619"),
)


def records(shared: Path) -> list[dict[str, object]]:
    files = (shared / "oracles" / f"field-{name}.jsonl" for name in ("vllm", "llamacpp"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def explained(log: list[Line]) -> Explanation:
    return of_blocks(f"{line.text}\n".encode() for line in log)


def missing(log: list[Line], found: Explanation) -> list[tuple[int, float]]:
    """Figures that are not found on their lines."""
    seen: dict[int, list[float]] = {}
    for figure in found.figures:
        seen.setdefault(figure.line, []).append(figure.value)
    return [
        (number, value)
        for number, line in enumerate(log, 1)
        for value in line.figures
        if not any(abs(value - other) <= max(0.006, 0.0001 * abs(value)) for other in seen.get(number, []))
    ]


def test_figures_and_outcomes_come_back(shared: Path) -> None:
    n_figures = 0
    for record in records(shared):
        log = lines_of(record)
        found = explained(log)
        n_figures += sum(len(line.figures) for line in log)
        assert missing(log, found) == [], record["id"]
        outcome = record.get("outcome_class")
        if outcome is not None:
            assert found.outcome in OUTCOMES[str(outcome)], (record["id"], found.outcome)
    assert n_figures > 1200


def test_causes_agree(shared: Path) -> None:
    wrong, n_judged = [], 0
    for record in records(shared):
        said = f"{record['outcome']} {record.get('why')}"
        failed = record.get("outcome_class") in ("refused", "OOM") or "GGML_ASSERT" in said or "out of memory" in said.lower()
        if not failed:
            continue
        expected = next((rule for words, rule in CAUSES if words in said), None)
        if expected is None:
            pytest.fail(f"no cause is known of {record['id']}: {said}")
        n_judged += 1
        found = explained(lines_of(record))
        if found.cause != expected:
            wrong.append((record["id"], expected, found.cause))
    assert n_judged >= 25
    assert len(wrong) <= 0.1 * n_judged, wrong
    assert wrong == []
