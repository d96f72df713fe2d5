"""The largest batch that runs, found between one that ran and one that ran out of memory."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kvplan.verifier import files
from kvplan.verifier.record import Record

STEP = 16  # the first steps away from the estimate are a sixteenth of it, and double
FINE = 64  # near enough: a sixty-fourth of the batch, or one


class Boundary(NamedTuple):
    """What was tried, in order: (batch, whether it ran). ``ran`` is the largest that did, ``failed`` the least that did not."""

    tries: tuple[tuple[int, bool], ...]

    @property
    def ran(self) -> int | None:
        """The largest batch that ran."""
        return max((batch for batch, ran in self.tries if ran), default=None)

    @property
    def failed(self) -> int | None:
        """The least batch that ran out of memory."""
        return min((batch for batch, ran in self.tries if not ran), default=None)

    @property
    def is_found(self) -> bool:
        """Whether the two are as near as is worth while."""
        low, high = self.ran or 0, self.failed
        return high is not None and high - low <= max(1, high // FINE)

    @property
    def following(self) -> int | None:
        """The batch to try next, once one was tried: away from the last in growing steps, then halfway; None when all is known."""
        low, high = self.ran or 0, self.failed
        first = self.tries[0][0]
        step = max(1, first // STEP) << (len(self.tries) - 1)
        if self.is_found:
            return None
        if high is None:
            return low + step
        if low == 0 and high - step > 0:
            return high - step
        return (low + high) // 2


def search(start: int, runs: Callable[[int], bool | None]) -> Boundary:
    """Try batches from ``start`` on; ``runs`` answers None when there is no time left, or no answer."""
    found, batch = Boundary(()), max(1, start)
    while True:
        ran = runs(batch)
        if ran is None:
            return found
        found = Boundary((*found.tries, (batch, ran)))
        following = found.following
        if following is None:
            return found
        batch = following


class Expected(NamedTuple):
    """By the estimate: the largest batch that fits for certain, and that which probably does."""

    certain: int
    probable: int


def write(found: Boundary, expected: Expected, record: Record, folder: Path) -> Path:
    """Keep what was found, beside the estimate, in a folder of its own under ``folder``; ``record`` is one of the runs."""
    answer = {
        "schema_version": 1,
        "model": record.job.id,
        "ctx_tokens": record.job.ctx_tokens,
        "prompt_tokens": record.job.prompt_tokens,
        "dtype": record.job.dtype,
        "estimated_certain_batch": expected.certain,
        "estimated_probable_batch": expected.probable,
        "ran_batch": found.ran,
        "failed_batch": found.failed,
        "is_found": found.is_found,
        "tries": [{"batch": batch, "ran": ran} for batch, ran in found.tries],
        "taken_at": record.taken_at,
        "device": record.device._asdict(),
        "before": record.before._asdict(),
        "versions": record.versions,
    }
    name = files.name(record).replace(f"_b{record.job.batch}_", "_boundary_")
    return files.write_text(json.dumps(answer, indent=1) + "\n", folder / "boundaries", name)
