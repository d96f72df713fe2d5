"""Runs the measuring process and reads its record."""

import json
import os
import subprocess
import sys
from pathlib import Path

from kvplan.verifier.record import Job, Record, from_json, to_json

ROOT = Path(__file__).resolve().parents[2]


class ChildError(Exception):
    """The process died or said nothing; the message holds the end of what it wrote to stderr."""


def measure(job: Job, *, timeout_s: float, python: str = sys.executable) -> Record:
    """The record of ``job``, measured in a process of its own by ``python``.

    Raises ChildError when that process takes longer than ``timeout_s``, dies, or answers with no record.
    """
    command = [python, "-m", "kvplan.verifier.child"]
    try:
        done = subprocess.run(
            command, input=json.dumps(job._asdict()), capture_output=True, text=True, timeout=timeout_s, env=_environment(job), check=False
        )
    except subprocess.TimeoutExpired:
        raise ChildError(f"no answer within {timeout_s:g} s") from None
    line = done.stdout.strip().rpartition("\n")[2]
    try:
        return from_json(json.loads(line))
    except (ValueError, KeyError, TypeError):
        raise ChildError(f"{_how_it_ended(done.returncode)}: {_tail(done.stderr)}") from None


def dumps(record: Record) -> str:
    """The record as the text of a file."""
    return json.dumps({"schema_version": 1, **to_json(record)}, indent=1, ensure_ascii=False) + "\n"


def _environment(job: Job) -> dict[str, str]:
    """This package on the path, the Hub out of reach: a config names no weights that would be needed. A trace sees no GPU."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    quiet = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false"}
    return os.environ | quiet | {"PYTHONPATH": path} | ({"CUDA_VISIBLE_DEVICES": ""} if job.device == "trace" else {})


def _how_it_ended(code: int) -> str:
    return "the process was killed: the host may have run out of memory" if code == -9 else f"the process ended with code {code}"


def _tail(text: str) -> str:
    return text.strip()[-400:] or "it wrote nothing"
