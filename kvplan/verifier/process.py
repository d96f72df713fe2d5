"""Runs the measuring process and reads its record."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Self

from kvplan.verifier.record import Job, Record, from_json, to_json

ROOT = Path(__file__).resolve().parents[2]


class ChildError(Exception):
    """The process died or said nothing; the message holds the end of what it wrote to stderr."""


class Child:
    """A measuring process for one job, which may be started before the job is known: importing torch takes it seconds.

    A context manager: the process is gone at the end, whatever it was doing.
    """

    def __init__(self, device: str, *, python: str = sys.executable) -> None:
        """``device`` is that of the job to come; ``python`` is the interpreter."""
        command, pipe = [python, "-m", "kvplan.verifier.child"], subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=_environment(device))

    def __enter__(self) -> Self:
        """The process itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it if it runs."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def measure(self, job: Job, *, timeout_s: float) -> Record:
        """Its record of ``job``. Raises ChildError when it takes longer than ``timeout_s``, dies, or answers with no record."""
        try:
            out, err = self._process.communicate(json.dumps(job._asdict()), timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise ChildError(f"no answer within {timeout_s:g} s") from None
        try:
            return from_json(json.loads(out.strip().rpartition("\n")[2]))
        except (ValueError, KeyError, TypeError):
            raise ChildError(f"{_how_it_ended(self._process.returncode)}: {_tail(err)}") from None


def measure(job: Job, *, timeout_s: float, python: str = sys.executable) -> Record:
    """The record of ``job``, measured in a process of its own. Raises ChildError as ``Child.measure`` does."""
    with Child(job.device, python=python) as child:
        return child.measure(job, timeout_s=timeout_s)


def dumps(record: Record) -> str:
    """The record as the text of a file."""
    return json.dumps({"schema_version": 1, **to_json(record)}, indent=1, ensure_ascii=False) + "\n"


def _environment(device: str) -> dict[str, str]:
    """This package on the path, the Hub out of reach: a config names no weights that would be needed. A trace sees no GPU."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    quiet = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false"}
    return os.environ | quiet | {"PYTHONPATH": path} | ({"CUDA_VISIBLE_DEVICES": ""} if device == "trace" else {})


def _how_it_ended(code: int) -> str:
    return "the process was killed: the host may have run out of memory" if code == -9 else f"the process ended with code {code}"


def _tail(text: str) -> str:
    return text.strip()[-400:] or "it wrote nothing"
