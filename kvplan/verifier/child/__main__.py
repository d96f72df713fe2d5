"""Reads one job, measures it, prints one record."""

import contextlib
import gc
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from functools import partial

from kvplan.verifier.record import Device, Job, Record, Snapshot, to_json


def main() -> int:
    """Answer the job on stdin with a record on stdout; what libraries print goes to stderr.

    Imports come first: whoever asks may still be thinking about the job.
    """
    gc.disable()  # imports make many objects and hardly any garbage; looking for it takes a fifth of their time
    with contextlib.redirect_stdout(sys.stderr):
        import kvplan.verifier.child.passes
        import kvplan.verifier.child.tracing  # noqa: F401 - with all that they need

        record = answer(Job(**json.load(sys.stdin)))
    sys.stdout.write(json.dumps(to_json(record)) + "\n")
    return 0


def answer(job: Job) -> Record:
    """The record of ``job``. Running out of memory is an answer, and so is a model that Transformers can't build or run."""
    import torch
    import transformers

    from kvplan.verifier.child import passes, tracing
    from kvplan.verifier.child.attached import CudaMeter
    from kvplan.verifier.child.build import OtherWeightsError
    from kvplan.verifier.child.meters import Meter
    from kvplan.verifier.child.resident import ResidentMeter

    gc.freeze()
    gc.enable()
    transformers.logging.set_verbosity_error()
    blank = _blank(job, {"python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__})
    if job.device == "cuda" and not torch.cuda.is_available():
        return blank._replace(error="torch sees no CUDA device")
    meters: dict[str, Callable[[], Meter]] = {"cuda": CudaMeter, "cpu": ResidentMeter, "trace": partial(tracing.of, job)}
    meter = meters[job.device]()
    blank = blank._replace(versions=blank.versions | meter.versions(), device=meter.device(), before=meter.before())
    record = blank
    try:
        for reached in passes.run(blank, meter):
            record = reached
    except torch.OutOfMemoryError as problem:
        return record._replace(outcome="oom", error=str(problem))
    except (passes.TooLargeError, OtherWeightsError) as problem:
        return record._replace(outcome="refused", error=str(problem))
    except Exception as problem:  # of a model's own code: any; the caller shows it
        return record._replace(outcome="failed", error=f"{type(problem).__name__}: {problem}")
    return record._replace(outcome="ran")


def _blank(job: Job, versions: dict[str, str | None]) -> Record:
    """The record before anything is known but the processor."""
    return Record(
        job=job,
        outcome="failed",
        error=None,
        taken_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        versions=versions,
        device=Device(job.device, platform.processor() or platform.machine(), None, None, None),
        before=Snapshot(),
    )


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # the answer is out, and taking thousands of modules apart takes a second
