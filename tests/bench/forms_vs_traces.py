"""Peaks by formula beside traces of the modeling code, over architectures, contexts and batches.

usage: python -m tests.bench.forms_vs_traces trace RESULTS.jsonl [ARCHITECTURE ...]
       python -m tests.bench.forms_vs_traces table RESULTS.jsonl > reports/transformers-vs-traces.md

The first traces what RESULTS does not hold yet and appends to it, so it can be stopped and started again; the second writes the
report from it, with estimates made now. Models have their published widths and only their first layers: beside the weights and the
cache every layer takes the same again. Needs the extra ``verify``.
"""

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from kvplan.verifier.record import Job, Phase, Record, Snapshot
from tests.bench.architectures import ARCHITECTURES, config_of
from tests.bench.forms_table import Row, Run, table

CONTEXTS, BATCHES, STEPS = (33, 1000, 4096, 32768), (1, 3, 8), 2
FEW = ((1000, 3), (4096, 1))
"""(context, batch) points of settings that are less common."""


def runs() -> Iterator[Run]:
    """The grid, and some of it with a static cache, with padding, and in eager attention."""
    for ctx in CONTEXTS:
        for batch in BATCHES:
            yield Run("sdpa", "dynamic", padded=False, ctx_tokens=ctx, batch=batch)
    for ctx, batch in FEW:
        yield Run("sdpa", "static", padded=False, ctx_tokens=ctx, batch=batch)
        yield Run("sdpa", "dynamic", padded=True, ctx_tokens=ctx, batch=batch)
    yield Run("eager", "dynamic", padded=False, ctx_tokens=1000, batch=3)


def trace(results: Path, names: list[str]) -> None:
    """Append a line for each run that ``results`` does not hold."""
    held = {(row.name, row.run) for row in rows(results)}
    for name in names:
        missing = [run for run in runs() if (name, run) not in held]
        for attn, padded in dict.fromkeys((run.attn, run.padded) for run in missing):
            alike = [run for run in missing if (run.attn, run.padded) == (attn, padded)]
            with results.open("a", encoding="utf-8") as file:
                for row in _traced(name, alike):
                    file.write(json.dumps(row) + "\n")
                    file.flush()


def _traced(name: str, alike: list[Run]) -> Iterator[dict[str, object]]:
    """A row for each run of one model, which is built once."""
    import torch

    from kvplan.verifier.child import passes
    from kvplan.verifier.child.build import build
    from kvplan.verifier.child.tracing import TraceMeter

    first = alike[0]
    meter = TraceMeter(padded=first.padded)
    job = Job(name, config_of(name), "bfloat16", 0, 0, 0, device="trace", attn=first.attn, padded=first.padded)
    with torch.no_grad(), meter.running():
        model = build(job, meter.torch_device)
        for run in alike:
            asked = job._replace(ctx_tokens=run.ctx_tokens, batch=run.batch, prompt_tokens=run.ctx_tokens - STEPS, cache=run.cache)
            record = Record(asked, "ran", None, "", {}, meter.device(), Snapshot())
            for reached in passes.measured(record, model, meter):
                record = reached
            peaks = {"prefill": _beside(record, record.prefill), "decode": _beside(record, record.decode)}
            yield {"name": name, "run": list(run), **peaks, "weights": model.built.parameter_bytes + model.built.saved_buffer_bytes}


def _beside(record: Record, phase: Phase | None) -> int:
    """The peak of a phase beside what was loaded."""
    assert phase
    assert record.loaded
    return (phase.memory.peak_allocated_bytes or 0) - (record.loaded.allocated_bytes or 0)


def rows(results: Path) -> list[Row]:
    """What was traced so far."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return [Row(**{**row, "run": Run(*row["run"])}) for row in map(json.loads, lines)]


def main(verb: str, results: str, *names: str) -> None:
    """Trace, or write the report to stdout."""
    if verb == "table":
        sys.stdout.write(table(rows(Path(results))))
        return
    import transformers

    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    trace(Path(results), list(names or ARCHITECTURES))


if __name__ == "__main__":
    main(*sys.argv[1:])
