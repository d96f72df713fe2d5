"""PyTorch's caching allocator far from its thresholds: blocks of many MiB, which it takes and splits whatever their size.

Source: PyTorch 2.13 c10/cuda/CUDACachingAllocator.cpp, as in core/allocator.py, which follows every threshold and is slower.
"""

from bisect import bisect_left, insort

Place = tuple[int, int]
"""Address and size of a block that is in use."""


class Holes:
    """Segments as large as what they are made for, and ``slack`` more; blocks are split and merged in them, best fit first.

    A rest of no more than the slack is handed out with its block.
    """

    def __init__(self, slack: int) -> None:
        """Nothing is reserved."""
        self.reserved = self.n_segments = 0
        self._slack = slack
        self._free: list[Place] = []  # size first
        self._sizes: dict[int, int] = {}  # of free blocks by address
        self._starts: dict[int, int] = {}  # of free blocks by the address behind them
        self._next = 1

    def malloc(self, size: int) -> Place:
        """The place of ``size``, which is one at least."""
        i = bisect_left(self._free, (size, 0))
        if i == len(self._free):
            address, found = self._next, size + self._slack
            self._next += found + 1  # no segment is another's neighbor
            self.reserved += size
            self.n_segments += 1
        else:
            found, address = self._free.pop(i)
            del self._sizes[address], self._starts[address + found]
        if found - size <= self._slack:
            return address, found
        self._add(address + size, found - size)
        return address, size

    def free(self, place: Place) -> None:
        """Give ``place`` back: it becomes one with its free neighbors."""
        address, size = place
        end = address + size
        before = self._starts.get(address)
        if before is not None:
            self._take(before)
            address = before
        if end in self._sizes:
            end += self._take(end)
        self._add(address, end - address)

    def _add(self, address: int, size: int) -> None:
        insort(self._free, (size, address))
        self._sizes[address] = size
        self._starts[address + size] = address

    def _take(self, address: int) -> int:
        size = self._sizes.pop(address)
        del self._starts[address + size], self._free[bisect_left(self._free, (size, address))]
        return size
