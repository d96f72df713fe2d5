"""Peaks of graphs that differ in one size alone: laid out at some sizes, known on the line between two that were laid out alike.

All sizes and offsets of such graphs are linear in that size, and so are peaks as long as every comparison comes out the same. A
comparison of two lines that comes out the same at two sizes does so at each between them: hence equal trails at both ends prove the
line, and it gives what laying out would give, to the byte.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

Find = Callable[[int], tuple[dict[int, int], bytes]]
_ENOUGH = 1  # sizes that are laid out before it looks as if more will be asked for
_AHEAD = 4


class Sample(NamedTuple):
    """One size, its peaks by device, and what stands for its trail."""

    n: int
    peaks: dict[int, int]
    trail: tuple[int, int]


class Sampled:
    """What is known of graphs in one size, multiples of ``step``."""

    def __init__(self, step: int) -> None:
        """Nothing yet."""
        self._step = step
        self._sizes: list[int] = []
        self._samples: list[Sample] = []

    def peaks(self, n: int, find: Find) -> dict[int, int]:
        """Bytes by device at size ``n``; ``find`` lays a graph out."""
        at = bisect_left(self._sizes, n)
        if at < len(self._sizes) and self._sizes[at] == n:
            return self._samples[at].peaks
        if 0 < at < len(self._sizes):
            before, after = self._samples[at - 1 : at + 1]
            if before.trail == after.trail:
                return _between(before, after, n)
        found = self._laid_out(n, find)
        if len(self._sizes) > _ENOUGH:
            self._look_ahead(found, find)
        return found.peaks

    def _look_ahead(self, found: Sample, find: Find) -> None:
        """Lay out what will tell most about sizes beyond: ``_AHEAD`` times this one, or halfway to where things are different."""
        at = bisect_left(self._sizes, found.n) + 1
        beyond = self._sizes[at] if at < len(self._sizes) else None
        ahead = _AHEAD * found.n if beyond is None else (found.n + beyond) // 2 // self._step * self._step
        if beyond is None or (ahead > found.n and self._samples[at].trail != found.trail):
            self._laid_out(ahead, find)

    def _laid_out(self, n: int, find: Find) -> Sample:
        peaks, trail = find(n)
        sample = Sample(n, peaks, (len(trail), hash(trail)))
        at = bisect_left(self._sizes, n)
        self._sizes.insert(at, n)
        self._samples.insert(at, sample)
        return sample


def _between(before: Sample, after: Sample, n: int) -> dict[int, int]:
    part, whole = n - before.n, after.n - before.n
    return {device: peak + (after.peaks[device] - peak) * part // whole for device, peak in before.peaks.items()}
