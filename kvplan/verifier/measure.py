"""``python -m kvplan.verifier.measure JOBS.jsonl``: measures each job and writes its record.

For machines that have torch and transformers and nothing else: no estimate is made here. ``reports/measure.sh`` calls it.
"""

import argparse
import json
import sys
from pathlib import Path

from kvplan.core.units import GIB
from kvplan.verifier import files
from kvplan.verifier.process import ChildError, measure
from kvplan.verifier.record import Job, Record
from kvplan.verifier.shrink import tiny


def main(argv: list[str] | None = None) -> int:
    """Measure every job of a file; 0 when all ran (running out of memory is a result), 1 when one failed."""
    parser = argparse.ArgumentParser(prog="kvplan.verifier.measure", description="Measure the jobs of a file.")
    parser.add_argument("jobs", type=Path, help="one job a line")
    parser.add_argument("--out", type=Path, help=f"folder for the records (default {files.FOLDER}; a dry run writes none)")
    parser.add_argument("--timeout", type=float, default=150.0, help="seconds for one job")
    parser.add_argument("--dry-run", action="store_true", help="each model once, tiny, on the CPU: does everything work?")
    parser.add_argument("--only", default="", help="jobs whose id holds this")
    said = parser.parse_args(argv)
    jobs = [job for job in load(said.jobs) if said.only in job.id]
    if said.dry_run:
        jobs = [dry(job) for job in {job.id: job for job in jobs}.values()]
    folder = said.out or (None if said.dry_run else files.FOLDER)
    return 1 if sum(_failed(job, folder, timeout_s=said.timeout) for job in jobs) else 0


def _failed(job: Job, folder: Path | None, *, timeout_s: float) -> bool:
    """Measure one job, say how it went, write the record; whether nothing was measured."""
    try:
        record = measure(job, timeout_s=timeout_s)
    except ChildError as problem:
        _say(f"{job.id} ctx {job.ctx_tokens} x {job.batch}: failed: {problem}")
        return True
    where = f" -> {files.write(record, folder)}" if folder else ""
    _say(f"{summary(record)}{where}")
    return record.outcome == "failed"


def load(path: Path) -> list[Job]:
    """The jobs of a file, one JSON object a line."""
    return [Job(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def dry(job: Job) -> Job:
    """The same job with two layers, a small vocabulary and few tokens, on the CPU."""
    return job._replace(config=tiny(job.config), ctx_tokens=24, prompt_tokens=20, batch=min(job.batch, 2), device="cpu")


def summary(record: Record) -> str:
    """One line: what ran, and its peaks where there are any."""
    job, parts = record.job, [record.outcome]
    if record.model:
        parts.append(f"parameters {record.model.parameter_bytes / GIB:.3f} GiB")
    for name, phase in (("prefill", record.prefill), ("decode", record.decode)):
        if phase:
            peak = phase.memory.peak_allocated_bytes
            parts.append(f"{name} {phase.seconds:.2f} s" + (f" peak {peak / GIB:.3f} GiB" if peak is not None else ""))
    if record.error:
        parts.append(record.error[:160])
    return f"{job.id} ctx {job.ctx_tokens} x {job.batch}: {', '.join(parts)}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
