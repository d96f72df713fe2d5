"""Traces beside real runs of the same small models: does the trace see every tensor, and see it die?

usage: python -m tests.bench.trace_vs_real [MODEL_TYPE ...] > reports/trace-vs-real.md

Each model has random weights and runs on the processor twice: really, and as a trace of a processor. What is compared is what is
live after loading, and the peak and the end of a prefill and of three decode steps. Needs the extra ``verify``; ends with 1 where a
byte differs.
"""

import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import torch
import transformers

from kvplan.verifier.child import passes
from kvplan.verifier.child.meters import CpuMeter, Meter
from kvplan.verifier.child.tracing import TraceMeter
from kvplan.verifier.record import Device, Job, Record, Snapshot
from tests.bench.small_models import MODELS

PROMPT, STEPS, BATCH = 40, 3, 2
SETTINGS = (("bfloat16", "dynamic", False), ("bfloat16", "static", True), ("float32", "dynamic", False))
"""Element types, caches, and whether half of the first sequence is padding."""


class Row(NamedTuple):
    """One run: live bytes after loading and peaks of both phases, as they were and as traced."""

    model_type: str
    dtype: str
    cache: str
    padded: bool
    real: tuple[int, ...]
    traced: tuple[int, ...]

    @property
    def off(self) -> int:
        """The largest difference, in bytes, of all that is compared."""
        return max(abs(a - b) for a, b in zip(self.real, self.traced, strict=True))


def rows(names: list[str]) -> Iterator[Row]:
    """One row for each model and setting."""
    for name in names:
        for dtype, cache, padded in SETTINGS:
            job = Job(name, MODELS[name], dtype, PROMPT + STEPS, BATCH, PROMPT, cache=cache, padded=padded)
            yield Row(name, dtype, cache, padded, _figures(job, CpuMeter()), _figures(job, TraceMeter("cpu", padded=padded)))


def _figures(job: Job, meter: Meter) -> tuple[int, ...]:
    """(loaded, peak of the prefill, peak of decoding, held after the prefill, held at the end)."""
    record = Record(job, "ran", None, "", {}, Device("", "", None, None, None), Snapshot())
    for reached in passes.run(record, meter):
        record = reached
    assert record.loaded
    assert record.prefill
    assert record.decode
    prefill, decode = record.prefill.memory, record.decode.memory
    found = (
        record.loaded.allocated_bytes,
        prefill.peak_allocated_bytes,
        decode.peak_allocated_bytes,
        prefill.allocated_bytes,
        decode.allocated_bytes,
    )
    return tuple(n_bytes or 0 for n_bytes in found)


def table(found: list[Row]) -> str:
    """The report."""
    n_models = len({row.model_type for row in found})
    differ = sum(1 for row in found if row.off)
    lines = [
        "# Traces beside real runs",
        "",
        f"Written by `python -m tests.bench.trace_vs_real`, torch {torch.__version__}, transformers {transformers.__version__}.",
        f"{n_models} small models with random weights, prompt {PROMPT}, {STEPS} decode steps, batch {BATCH}: live bytes of tensors as",
        "operators make them and let go of them, really run and traced. Compared are what is live after loading, the peaks of both phases",
        f"and what is live at their ends; the difference is the largest of the five. {len(found)} runs, {differ} with a difference.",
        "",
        "| model type | type | cache | padded | loaded, B | peak in prefill, B | traced | peak in decoding, B | traced | difference, B |",
        "|---|---|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in found:
        cells = (row.real[0], row.real[1], row.traced[1], row.real[2], row.traced[2], row.off)
        lines.append(
            f"| {row.model_type} | {row.dtype} | {row.cache} | {'yes' if row.padded else ''} | {' | '.join(f'{n:,}' for n in cells)} |"
        )
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> int:
    """Write the report to stdout; 1 where a byte differs."""
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    found = list(rows(names or sorted(MODELS)))
    sys.stdout.write(table(found))
    return int(any(row.off for row in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
