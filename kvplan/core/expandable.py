"""PyTorch's caching allocator with ``expandable_segments:True``: one range of addresses for each pool, mapped page by page.

Source: PyTorch 2.13 c10/cuda/CUDACachingAllocator.cpp (ExpandableSegment, get_free_block, find_expandable_block,
try_allocate_expandable_block, map_block, unmap_block).
"""

from bisect import bisect_left, insort

from kvplan.core.allocator import LARGE_SEGMENT_BYTES, ROUND_BYTES, SMALL_SEGMENT_BYTES, Block, CachingAllocator, Pool
from kvplan.core.units import ceil_to

_ENDLESS = 2**60 // LARGE_SEGMENT_BYTES * LARGE_SEGMENT_BYTES  # PyTorch takes 1 1/8 of the device


class ExpandableAllocator(CachingAllocator):
    """Pages of 2 MiB (small blocks) and 20 MiB (large ones) behind and between those that are mapped; any rest is split off."""

    def __init__(self) -> None:
        """Two ranges of addresses without memory behind them."""
        super().__init__()
        self._holes: dict[Pool, list[tuple[int, Block]]] = {}
        for pool in (self.small, self.large):
            whole = Block(pool, 0, _ENDLESS)
            whole.mapped = False
            self._holes[pool] = [(0, whole)]

    def empty_cache(self) -> None:
        """Return pages without a used byte to the device."""
        for pool in (self.small, self.large):
            page = _page(pool)
            for _, address, block in tuple(pool.free):
                begin, end = ceil_to(address, page), (address + block.size) // page * page
                if begin < end:
                    self._unmap(pool.take(block), begin, end)

    def _unmap(self, block: Block, begin: int, end: int) -> None:
        """Leave addresses ``begin`` to ``end`` of a free block without memory, and the rest of it free."""
        pool = block.pool
        if end < block.address + block.size:
            pool.add(block.cut(end - block.address))
        if begin > block.address:
            middle = block.cut(begin - block.address)
            pool.add(block)
            block = middle
        block.mapped = False
        self._reserve(-block.size)
        self._vacate(self._merged(block))

    def _found(self, pool: Pool, size: int) -> Block | None:
        """The best fit; a block before a hole counts as what it can grow to, and gives way to a larger one that can't grow as far."""
        free, i = pool.free, bisect_left(pool.free, (size, 0))
        if i == len(free):
            return None
        while i + 1 < len(free) and _room(free[i + 1][2]) < _room(free[i][2]):
            i += 1
        return free.pop(i)[2]

    def _grown(self, pool: Pool, size: int) -> Block:
        """The lowest place where free blocks and holes in a row are large enough, its holes mapped."""
        block = next(start for start in self._starts(pool) if _suffices(start, size))
        if not block.mapped:
            block = self._map(block, min(block.size, size))
        while block.size < size:
            hole = block.next
            assert hole is not None
            block = self._map(hole, min(hole.size, size - block.size))
        return pool.take(block)

    def _starts(self, pool: Pool) -> "list[Block]":
        """Every hole, or the free block before it."""
        return [hole.prev if hole.prev is not None and hole.prev.is_free else hole for _, hole in self._holes[pool]]

    def _map(self, hole: Block, n_bytes: int) -> Block:
        """Put pages behind the first ``n_bytes`` of a hole; the free block that they become part of."""
        self._leave(hole)
        size = ceil_to(n_bytes, _page(hole.pool))
        if size < hole.size:
            self._vacate(hole.cut(size))
        hole.mapped = True
        self._reserve(size)
        block = self._merged(hole)
        block.pool.add(block)
        return block

    def _splits(self, pool: Pool, rest: int) -> bool:
        return rest >= ROUND_BYTES

    def _vacate(self, hole: Block) -> None:
        insort(self._holes[hole.pool], (hole.address, hole))

    def _leave(self, block: Block) -> None:
        if block.mapped:
            block.pool.take(block)
        else:
            holes = self._holes[block.pool]
            del holes[bisect_left(holes, (block.address,))]


def _page(pool: Pool) -> int:
    return SMALL_SEGMENT_BYTES if pool.small else LARGE_SEGMENT_BYTES


def _room(block: Block) -> int:
    """What a free block has, with the hole behind it."""
    behind = block.next
    return block.size + (behind.size if behind is not None and not behind.mapped else 0)


def _suffices(start: Block, size: int) -> bool:
    """Whether blocks in a row from ``start`` on, free or holes, hold ``size`` bytes."""
    block: Block | None = start
    while size > 0 and block is not None and block.is_free:
        size, block = size - block.size, block.next
    return size <= 0
