"""One line of the file of measurements: a job to run, or one whose largest batch is looked for; the standard library alone."""

import json
from pathlib import Path
from typing import NamedTuple

from kvplan.verifier.record import Job
from kvplan.verifier.shrink import tiny


class Task(NamedTuple):
    """``job`` once, or with ``finds_batch`` at several batches, until the largest that does not run out of memory is known."""

    job: Job
    finds_batch: bool = False


def as_line(task: Task) -> dict[str, object]:
    """The task as a JSON object; what is as usual is left out."""
    usual = Job._field_defaults
    said = {key: value for key, value in task.job._asdict().items() if key not in usual or value != usual[key]}
    return {**({"finds_batch": True} if task.finds_batch else {}), **said}


def load(path: Path) -> list[Task]:
    """The tasks of a file, one JSON object a line."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Task(finds_batch=line.pop("finds_batch", False), job=Job(**line)) for line in lines]


def dry(task: Task) -> Task:
    """The same once, with two layers, a small vocabulary and few tokens, on the CPU."""
    job = task.job
    few = job._replace(config=tiny(job.config), ctx_tokens=24, prompt_tokens=20, batch=min(job.batch, 2), device="cpu")
    return Task(few._replace(n_repeats=min(1, job.n_repeats)))
