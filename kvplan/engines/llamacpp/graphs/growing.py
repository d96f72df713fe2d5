"""Graphs that differ in the cells of a growing cache alone: laid out once for all numbers of cells that are handled alike.

Each size in such a graph is a line over the cells. Where a graph is built with CELLS in their place, a size is one number that holds
the line: its slope in the high bits, what does not grow in the low ones, so that sums and differences need no care. Only
comparisons must know how many cells there are; each of them says, too, between which numbers of cells it comes out the same.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import NamedTuple

_BITS = 80
CELLS = 1 << _BITS
"""As many cells as there are, in sizes that hold their lines."""
_HALF = CELLS >> 1
_ENDLESS = 1 << 62


class Range:
    """A number of cells, ``at``, and from ``low`` to ``high`` those for which every comparison so far comes out as for it."""

    __slots__ = ("at", "high", "low")

    def __init__(self, at: int) -> None:
        """All numbers of cells, before anything is compared."""
        self.at, self.low, self.high = at, 0, _ENDLESS

    def sign(self, size: int) -> int:
        """Below 0, 0, or above 0 as this difference of two sizes is."""
        if -_HALF < size < _HALF:
            return size
        slope, fixed = _parts(size)
        root, past = divmod(-fixed, slope)  # where the sign changes, rounded down
        if root < self.at:
            self.low = max(self.low, root + 1)
        elif root > self.at or past:
            self.high = min(self.high, root if past else root - 1)
        else:
            self.low = self.high = self.at
        return fixed + slope * self.at

    def equal(self, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        """Whether two lists of sizes are the same."""
        return one == other or (len(one) == len(other) and not any(self.sign(a - b) for a, b in zip(one, other, strict=True)))


def _parts(size: int) -> tuple[int, int]:
    """Slope, and what does not grow."""
    slope = (size + _HALF) >> _BITS
    return slope, size - (slope << _BITS)


class _Alike(NamedTuple):
    """Sizes by device for cells from ``low`` to ``high``: slope, and what does not grow."""

    low: int
    high: int
    sizes: tuple[tuple[int, int, int], ...]


class Growing:
    """What is known of one graph, whatever the cells."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._known: list[_Alike] = []
        self._ends: list[int] = []

    def peaks(self, n_cells: int, find: Callable[[Range], Mapping[int, int]]) -> dict[int, int]:
        """Bytes by device with so many cells; ``find`` lays the graph out and narrows the range down."""
        at = bisect_left(self._ends, n_cells)
        if at == len(self._ends) or self._known[at].low > n_cells:
            cells = Range(n_cells)
            if at:
                cells.low = self._ends[at - 1] + 1
            if at < len(self._ends):
                cells.high = self._known[at].low - 1
            found = tuple([(device, *_parts(size)) for device, size in find(cells).items()])
            self._known.insert(at, _Alike(cells.low, cells.high, found))
            self._ends.insert(at, cells.high)
        return {device: slope * n_cells + fixed for device, slope, fixed in self._known[at].sizes}
