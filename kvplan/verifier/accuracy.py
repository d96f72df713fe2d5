"""How far estimates are from what was measured: ``python -m kvplan.verifier.accuracy > reports/accuracy.md`` writes the report.

Every term of every record under ``reports/measurements`` beside the estimate of the same run, and the same for traces of a fixed set
of built-in models, which need no hardware. The traces run now, the records are read. Needs the extra ``verify``.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kvplan import estimator
from kvplan.core.ledger import Interval
from kvplan.estimator import Estimate, Options
from kvplan.hardware import names
from kvplan.verifier import files
from kvplan.verifier.reconcile import reconcile
from kvplan.verifier.record import Record, from_json
from kvplan.verifier.term import Term
from kvplan.verifier.verification import verify

# (model, its (context, batch) points): what differs in memory, at widths that people run.
POINTS: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = (
    ("llama-2-7b", ((4096, 8),)),
    ("llama-3.1-8b", ((1000, 1), (32768, 1), (32768, 8))),
    ("llama-3-70b", ((32768, 8),)),
    ("qwen2.5-7b", ((4096, 8),)),
    ("qwen3-8b", ((4096, 8),)),
    ("mistral-7b-v0.1", ((8192, 2),)),
    ("gemma-3-12b", ((1000, 1), (16384, 1))),
    ("phi-4", ((4096, 8),)),
    ("mixtral-8x7b", ((4096, 8),)),
    ("qwen3-30b-a3b", ((4096, 8),)),
    ("deepseek-v2-lite", ((4096, 1), (32768, 8))),
    ("gpt2", ((1000, 8),)),
    ("opt-6.7b", ((2048, 8),)),
)


class Row(NamedTuple):
    """A run and its terms; ``problem`` where there are none."""

    model: str
    ctx_tokens: int
    batch: int
    where: str
    terms: tuple[Term, ...]
    problem: str = ""


def traced() -> Iterator[Row]:
    """The fixed set, one process after the other."""
    for model, points in POINTS:
        for ctx, batch in points:
            found = verify(model, ctx=ctx, batch=batch, backend="trace")
            yield Row(model, ctx, batch, "trace", found.terms)


def recorded(folder: Path) -> Iterator[Row]:
    """What was measured before."""
    for path in sorted(folder.glob("*.json")):
        record = _read(path)
        job = record.job
        terms = reconcile(estimate_of(record), record) if record.outcome == "ran" else ()
        yield Row(job.id, job.ctx_tokens, job.batch, record.device.name, terms, record.error or record.outcome)


def estimate_of(record: Record) -> Estimate:
    """What is estimated of the run that ``record`` measured, on the card that it names if that is known."""
    job = record.job
    cards = names.with_label(record.device.name) if record.device.kind == "cuda" else ()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(job.config), encoding="utf-8")
        return estimator.answer(
            Options(
                model=str(path),
                ctx=str(job.ctx_tokens),
                batch=str(job.batch),
                prompt=str(job.prompt_tokens),
                dtype=job.dtype,
                attn=job.attn,
                cache=job.cache if job.use_cache else "none",
                forward=job.forward,
                gpu=cards[0] if len(cards) == 1 else None,
            )
        )


def text(traces: list[Row], records: list[Row]) -> str:
    """The report."""
    head = (
        "# Estimates beside measurements",
        "",
        "Written by `python -m kvplan.verifier.accuracy`. Bytes; the difference is that of the estimate from what was measured, in",
        "hundredths of it. A row is right if what was measured lies in the estimate's interval, widened by what `kvplan verify` allows.",
        "",
        "## Measured",
        "",
    )
    none = f"No records in `{files.FOLDER}` yet: `reports/measure.sh` makes them on an attached GPU."
    measured = _table(records) if records else [none]
    explained = (
        "",
        "## Traced",
        "",
        "The modeling code itself, run on tensors without memory as on a GPU of compute capability 8.0: `kvplan verify --backend trace`.",
        "",
    )
    return "\n".join((*head, *measured, *explained, *_table(traces))) + "\n"


def _table(rows: list[Row]) -> list[str]:
    lines = [
        "| model | context × batch | where | term | phase | estimate | measured | off, % | right |",
        "|---|--:|---|---|---|--:|--:|--:|---|",
    ]
    for row in rows:
        lead = f"| {row.model} | {row.ctx_tokens:,} × {row.batch} | {row.where} |"
        lines += [f"{lead} {_cells(term, term.estimate)} |" for term in row.terms if term.estimate] or [f"{lead} | | | | | {row.problem} |"]
    return lines


def _cells(term: Term, estimate: Interval) -> str:
    best, measured = estimate.best, term.measured_bytes
    off = f"{100 * (best - measured) / measured:+.2f}" if measured else ""
    return f"{term.term} | {term.phase} | {best:,} | {measured:,} | {off} | {'yes' if term.ok else 'no'}"


def _read(path: Path) -> Record:
    data = json.loads(path.read_text(encoding="utf-8"))
    return from_json({key: value for key, value in data.items() if key != "schema_version"})


def main() -> int:
    """Write the report to stdout; 1 where a traced term is wrong."""
    traces = list(traced())
    sys.stdout.write(text(traces, list(recorded(files.FOLDER))))
    return int(not all(term.ok for row in traces for term in row.terms))


if __name__ == "__main__":
    sys.exit(main())
