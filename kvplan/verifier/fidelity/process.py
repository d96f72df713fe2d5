"""Runs the process that plays samples, and hears what it tells."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kvplan.core.errors import UnavailableError
from kvplan.verifier.fidelity.asked import Job, Played, played_from
from kvplan.verifier.process import ROOT

_HINT = "these are the words of Transformers or of a package that it needs (gguf, sentencepiece, …)"


class Place(NamedTuple):
    """Where the model ran."""

    device: str
    n_threads: int


def played(job: Job, loaded: Callable[[Place], None], told: Callable[[str, int], None]) -> Iterator[tuple[str, Played]]:
    """Each sample of ``job`` by name as it ends; ``loaded`` hears of the place, ``told`` of each token written.

    The process is gone at the end, whatever it was doing. Raises UnavailableError where the run fails.
    """
    with tempfile.TemporaryFile("w+") as noise:
        command, pipe = [sys.executable, "-m", "kvplan.verifier.child.fidelity"], subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=noise, text=True, env=_environment(job))
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(job._asdict()))
                process.stdin.close()
            yield from _heard(process.stdout, loaded, told)
            if process.wait() != 0:
                noise.seek(0)
                raise _failed(f"the process ended with code {process.returncode}: {noise.read().strip()[-400:] or 'it wrote nothing'}")
        finally:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()


def _heard(lines: Iterable[str], loaded: Callable[[Place], None], told: Callable[[str, int], None]) -> Iterator[tuple[str, Played]]:
    for line in lines:
        event = json.loads(line)
        match event["event"]:
            case "loaded":
                loaded(Place(event["device"], event["n_threads"]))
            case "step":
                told(event["sample"], event["step"])
            case "played":
                yield event["sample"], played_from(event["played"])
            case _:
                raise _failed(event["error"])


def _failed(why: str) -> UnavailableError:
    return UnavailableError("run_failed", f"the run failed: {why}", hint=_HINT)


def _environment(job: Job) -> dict[str, str]:
    """This package on the path; the Hub in reach where the weights are there; CUDA's sums in one order."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    local = {"HF_HUB_OFFLINE": "1"} if os.path.lexists(job.weights) else {}
    quiet = {"TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    return os.environ | quiet | local | {"PYTHONPATH": path}
