"""``python -m kvplan.verifier.measure JOBS.jsonl``: measures each job and writes its record, until the time is up.

For machines that have torch and transformers and nothing else: what is imported here is the standard library and kvplan's own
arithmetic. ``reports/measure.sh`` calls it.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kvplan.core.units import GIB
from kvplan.verifier import boundary, files
from kvplan.verifier.process import ChildError, measure
from kvplan.verifier.record import Job, Record
from kvplan.verifier.shrink import tiny
from kvplan.verifier.sizing import Sizing
from kvplan.verifier.task import Task, dry, load

LEAST_S = 15.0  # no job that is begun later than this before the end comes to anything
INTERRUPTED = 130


class Session:
    """Jobs one after the other, each in a process of its own, until ``seconds`` are up; records go to ``folder`` (None: nowhere)."""

    def __init__(self, folder: Path | None, *, seconds: float, timeout_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """``timeout_s`` is the most that one job may take."""
        self.folder, self.n_failed = folder, 0
        self._timeout_s, self._clock = timeout_s, clock
        self._end = clock() + seconds

    @property
    def is_over(self) -> bool:
        """Whether there is no time for another job."""
        return self._end - self._clock() < LEAST_S

    def run(self, job: Job) -> Record | None:
        """Measure one job, say how it went, keep the record; None where there is none."""
        left = self._end - self._clock()
        try:
            record = measure(job, timeout_s=min(self._timeout_s, left))
        except ChildError as problem:
            late = self.is_over
            self.n_failed += not late
            _say(f"{_name(job)}: {'not done in time' if late else f'failed: {problem}'}")
            return None
        where = f" -> {files.write(record, self.folder)}" if self.folder and record.outcome in ("ran", "oom") else ""
        self.n_failed += record.outcome == "failed"
        _say(f"{summary(record)}{where}")
        return record

    def find(self, job: Job, expected: boundary.Expected) -> None:
        """Look for the largest batch of one job, from the estimate on, and keep what was found."""
        seen: list[Record] = []

        def runs(batch: int) -> bool | None:
            record = None if self.is_over else self.run(job._replace(batch=batch))
            if record is None or record.outcome not in ("ran", "oom"):
                return None
            seen.append(record)
            return record.outcome == "ran"

        found = boundary.search(expected.probable, runs)
        said = f"largest batch: {found.ran} ran, {found.failed} did not; estimated {expected.certain} to {expected.probable}"
        where = f" -> {boundary.write(found, expected, seen[-1], self.folder)}" if self.folder and seen else ""
        _say(f"{job.id} ctx {job.ctx_tokens}: {said}{where}")


def main(argv: list[str] | None = None) -> int:
    """Measure what a file asks for; 0 when all ran (running out of memory is a result, and so is no more time), 1 when one failed."""
    parser = argparse.ArgumentParser(prog="kvplan.verifier.measure", description="Measure the jobs of a file.")
    parser.add_argument("jobs", type=Path, help="one job a line")
    parser.add_argument("--out", type=Path, help=f"folder for the records (default {files.FOLDER}; a dry run writes none)")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one job")
    parser.add_argument("--minutes", type=float, default=8.0, help="for all of them: those that are not begun then are left out")
    parser.add_argument("--dry-run", action="store_true", help="each model once, tiny, on the CPU: does everything work?")
    parser.add_argument("--only", default="", help="jobs whose id holds this")
    said = parser.parse_args(argv)
    tasks = [task for task in load(said.jobs) if said.only in task.job.id]
    if said.dry_run:
        tasks = [dry(task) for task in {task.job.id: task for task in tasks}.values()]
    folder = said.out or (None if said.dry_run else files.FOLDER)
    session = Session(folder, seconds=60 * said.minutes, timeout_s=said.timeout)
    try:
        _run_all(session, tasks)
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    return 1 if session.n_failed else 0


def _run_all(session: Session, tasks: list[Task]) -> None:
    """Every task that the device is large enough for, as long as there is time."""
    sizing = _sized(session, tasks[0].job) if tasks and tasks[0].job.device == "cuda" else None
    if sizing is None and session.n_failed:
        return
    for i, (job, finds_batch) in enumerate(tasks):
        if session.is_over:
            _say(f"the time is up: {len(tasks) - i} of {len(tasks)} not measured")
            return
        why_not = sizing.why_not(job) if sizing else None
        if why_not:
            _say(f"{_name(job)}: left out: {why_not}")
        elif finds_batch and sizing:
            session.find(job, sizing.batches(job))
        else:
            session.run(job)


def _sized(session: Session, job: Job) -> Sizing | None:
    """The device, as a tiny run tells of it; None where it does not run."""
    look = job._replace(id="tiny", config=tiny(job.config), ctx_tokens=24, prompt_tokens=20, batch=1, n_repeats=0)
    folder, session.folder = session.folder, None
    record = session.run(look)
    session.folder = folder
    return Sizing(record) if record and record.outcome == "ran" else None


def summary(record: Record) -> str:
    """One line: what ran, and its peaks and times where there are any."""
    parts = [record.outcome]
    if record.model:
        parts.append(f"parameters {record.model.parameter_bytes / GIB:.3f} GiB")
    for name, phase in (("prefill", record.prefill), ("decode", record.decode)):
        if phase:
            peak = phase.memory.peak_allocated_bytes
            parts.append(f"{name} {phase.seconds:.2f} s" + (f" peak {peak / GIB:.3f} GiB" if peak is not None else ""))
    if record.timings and record.timings.decode_tokens_per_s is not None:
        parts.append(f"{record.timings.decode_tokens_per_s:.1f} tokens/s")
    if record.error:
        parts.append(record.error[:160])
    return f"{_name(record.job)}: {', '.join(parts)}"


def _name(job: Job) -> str:
    return f"{job.id} ctx {job.ctx_tokens} x {job.batch}{'' if job.use_cache else ' without a cache'}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
