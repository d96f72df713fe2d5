"""PyTorch's caching allocator far from its thresholds: blocks of many MiB, which it takes and splits whatever their size.

Source: PyTorch 2.13 c10/cuda/CUDACachingAllocator.cpp, as in core/allocator.py, which follows every threshold and is slower.
"""

from bisect import bisect_left, insort

Place = tuple[int, int]
"""Address and size of a block that is in use."""

_BITS = 36
_MASK = (1 << _BITS) - 1
"""A free block is one number, which sorts and compares fast: its size above its address."""


class Holes:
    """Segments as large as what they are made for, and ``slack`` more; blocks are split and merged in them, best fit first.

    A rest of no more than the slack is handed out with its block. Addresses stay below 2 ** 36.
    """

    def __init__(self, slack: int) -> None:
        """Nothing is reserved."""
        self.reserved = self.n_segments = 0
        self._slack = slack
        self._free: list[int] = []
        self._sizes: dict[int, int] = {}  # of free blocks by address
        self._starts: dict[int, int] = {}  # of free blocks by the address behind them
        self._next = 1

    def holds(self, size: int) -> bool:
        """Whether there is a place for ``size``: to take it and to give it back then changes nothing."""
        return bool(self._free) and self._free[-1] >> _BITS >= size

    def malloc(self, size: int) -> Place:
        """The place of ``size``, which is one at least."""
        i = bisect_left(self._free, size << _BITS)
        if i == len(self._free):
            address, found = self._next, size + self._slack
            self._next += found + 1  # no segment is another's neighbor
            self.reserved += size
            self.n_segments += 1
        else:
            key = self._free.pop(i)
            address, found = key & _MASK, key >> _BITS
            del self._sizes[address], self._starts[address + found]
        rest = found - size
        if rest <= self._slack:
            return address, found
        behind = address + size
        insort(self._free, rest << _BITS | behind)
        self._sizes[behind] = rest
        self._starts[address + found] = behind
        return address, size

    def free(self, place: Place) -> None:
        """Give ``place`` back: it becomes one with its free neighbors."""
        address, size = place
        end = address + size
        if address in self._starts:
            address = self._starts[address]
            size += self._take(address)
        if end in self._sizes:
            size += self._take(end)
        insort(self._free, size << _BITS | address)
        self._sizes[address] = size
        self._starts[address + size] = address

    def _take(self, address: int) -> int:
        size = self._sizes.pop(address)
        del self._starts[address + size], self._free[bisect_left(self._free, size << _BITS | address)]
        return size


class Range(Holes):
    """Expandable segments: one range of addresses, mapped no further than it is needed."""

    def __init__(self) -> None:
        """Nothing is mapped."""
        super().__init__(0)

    def malloc(self, size: int) -> Place:
        """The best fit, or what is free at the end and as much more as is missing."""
        if self.holds(size):
            return super().malloc(size)
        address = self._starts.get(self._next, self._next)
        free = self._take(address) if address < self._next else 0
        self._next = address + size
        self.reserved += size - free
        return address, size
