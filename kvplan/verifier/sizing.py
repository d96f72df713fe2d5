"""What a GPU that just told its size can run, by the estimate; no more than the standard library is imported."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from kvplan import estimator
from kvplan.core.units import GIB, MAX_COUNT
from kvplan.estimator import Estimate
from kvplan.estimator.inverse import largest
from kvplan.estimator.options import in_words
from kvplan.hardware import names
from kvplan.verifier.boundary import Expected
from kvplan.verifier.record import Job, Record

_SHARED = 20  # others that hold more than a twentieth: then what is free counts, whatever the card
_GUESS = 8


class Sizing:
    """Estimates for the device that ``record`` ran on: a card of the catalogue where its name is one's alone, else its free bytes."""

    def __init__(self, record: Record) -> None:
        """What other processes hold counts as not there."""
        total, used = record.device.cuda_total_bytes or 0, record.before.device_used_bytes or 0
        self.free_bytes = total - used
        known = names.with_label(record.device.name)
        self._gpu = known[0] if len(known) == 1 and _SHARED * used < total else None

    def why_not(self, job: Job) -> str | None:
        """Why the job is not worth a try: it probably needs more than there is; None where it may fit."""
        needed = self._estimate(job if job.use_cache else job._replace(prompt_tokens=job.ctx_tokens)).needed.best
        if needed <= self.free_bytes:
            return None
        return f"probably needs {needed / GIB:.1f} GiB, {self.free_bytes / GIB:.1f} are free"

    def batches(self, job: Job) -> Expected:
        """The largest batches of ``job`` by the estimate."""
        return Expected(
            certain=self._largest(job, lambda found: found.needed.high), probable=self._largest(job, lambda found: found.needed.best)
        )

    def _largest(self, job: Job, bound: Callable[[Estimate], int]) -> int:
        def missing(batch: int) -> int:
            return bound(self._estimate(job._replace(batch=batch))) - self.free_bytes

        return largest(missing, guess=_GUESS, most=MAX_COUNT // job.ctx_tokens)

    def _estimate(self, job: Job) -> Estimate:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "config.json"
            path.write_text(json.dumps(job.config), encoding="utf-8")
            asked = in_words(str(path), {"dtype": job.dtype, "ctx": job.ctx_tokens, "batch": job.batch, "prompt": job.prompt_tokens})
            return estimator.answer(asked._replace(gpu=self._gpu, budget=None if self._gpu else f"{self.free_bytes}B"))
