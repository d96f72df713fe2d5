"""PyTorch's caching allocator on one stream: what it reserves for a sequence of allocations.

Source: PyTorch 2.13 c10/cuda/CUDACachingAllocator.cpp (round_size, get_allocation_size, get_free_block, should_split, free_block,
release_blocks) and c10/core/AllocatorConfig.h, with its default settings. Addresses of segments are made up: they decide only
between free blocks of one size.
"""

from bisect import bisect_left, insort

from kvplan.core.units import MIB, ceil_to

ROUND_BYTES = 512
"""kMinBlockSize: every size is rounded up to a multiple of it."""
SMALL_BYTES = MIB
"""kSmallSize: up to here blocks come from the small pool."""
SMALL_SEGMENT_BYTES, LARGE_SEGMENT_BYTES = 2 * MIB, 20 * MIB
"""kSmallBuffer, and large_segment_size unless it is set: what is asked of the device for blocks up to kMinLargeAlloc."""
ALONE_FROM_BYTES, ALONE_STEP_BYTES = 10 * MIB, 2 * MIB
"""kMinLargeAlloc and kRoundLarge: from here on a block gets a segment of its own size, rounded up."""

_APART = 2**44  # between segments: none is another's neighbor


class Block:
    """Bytes in a row, between its neighbors in one segment. ``mapped`` is whether the device holds memory for them."""

    __slots__ = ("address", "is_free", "mapped", "next", "pool", "prev", "size")

    def __init__(self, pool: "Pool", address: int, size: int) -> None:
        """A free block without neighbors."""
        self.pool = pool
        self.address = address
        self.size = size
        self.is_free = True
        self.mapped = True
        self.prev: Block | None = None
        self.next: Block | None = None

    def cut(self, size: int) -> "Block":
        """The bytes behind the first ``size``, as a block of their own, its next neighbor."""
        rest = Block(self.pool, self.address + size, self.size - size)
        rest.mapped = self.mapped
        rest.prev, rest.next = self, self.next
        if self.next is not None:
            self.next.prev = rest
        self.next, self.size = rest, size
        return rest

    def swallow_next(self) -> None:
        """Take in the next neighbor, which there must be."""
        gone = self.next
        assert gone is not None
        self.size, self.next = self.size + gone.size, gone.next
        if gone.next is not None:
            gone.next.prev = self


class Pool:
    """Free blocks by size, then address. Small and large blocks never share segments."""

    def __init__(self, *, small: bool) -> None:
        """An empty pool."""
        self.small = small
        self.free: list[tuple[int, int, Block]] = []

    def add(self, block: Block) -> None:
        """Keep a free block."""
        insort(self.free, (block.size, block.address, block))

    def take(self, block: Block) -> Block:
        """Remove a free block, and return it."""
        del self.free[bisect_left(self.free, (block.size, block.address))]
        return block


class CachingAllocator:
    """Segments by cudaMalloc, kept until ``empty_cache``; blocks are split and merged within them, best fit first."""

    def __init__(self) -> None:
        """Nothing is reserved."""
        self.reserved_bytes = self.peak_reserved_bytes = 0
        self.allocated_bytes = self.peak_allocated_bytes = 0
        self.small, self.large = Pool(small=True), Pool(small=False)
        self._next_address = _APART

    def malloc(self, n_bytes: int) -> Block:
        """The block for ``n_bytes``, at least one."""
        size = ceil_to(n_bytes, ROUND_BYTES)
        pool = self.small if size <= SMALL_BYTES else self.large
        block = self._found(pool, size) or self._grown(pool, size)
        if self._splits(pool, block.size - size):
            pool.add(block.cut(size))
        block.is_free = False
        self.allocated_bytes += block.size
        self.peak_allocated_bytes = max(self.peak_allocated_bytes, self.allocated_bytes)
        return block

    def free(self, block: Block) -> None:
        """Give ``block`` back: it becomes one with its free neighbors, and stays reserved."""
        self.allocated_bytes -= block.size
        block.is_free = True
        block.pool.add(self._merged(block))

    def restart(self) -> None:
        """Count peaks from now on."""
        self.peak_reserved_bytes, self.peak_allocated_bytes = self.reserved_bytes, self.allocated_bytes

    def empty_cache(self) -> None:
        """Return segments without a used block to the device."""
        for pool in (self.small, self.large):
            whole = [block for _, _, block in pool.free if block.prev is None and block.next is None]
            for block in whole:
                self._reserve(-pool.take(block).size)

    def _found(self, pool: Pool, size: int) -> Block | None:
        """The smallest free block that is large enough, no longer free."""
        i = bisect_left(pool.free, (size, 0))
        return pool.free.pop(i)[2] if i < len(pool.free) else None

    def _grown(self, pool: Pool, size: int) -> Block:
        """A new segment as one block."""
        shared = SMALL_SEGMENT_BYTES if pool.small else LARGE_SEGMENT_BYTES
        size = shared if size < ALONE_FROM_BYTES else ceil_to(size, ALONE_STEP_BYTES)
        self._reserve(size)
        block = Block(pool, self._next_address, size)
        self._next_address += size + _APART
        return block

    def _splits(self, pool: Pool, rest: int) -> bool:
        """Whether ``rest`` bytes of a block become one of their own; else they are handed out with it."""
        return rest >= ROUND_BYTES if pool.small else rest > SMALL_BYTES

    def _merged(self, block: Block) -> Block:
        """``block`` with its free neighbors that are mapped, or not, as it is; they leave the pool."""
        before, after = block.prev, block.next
        if before is not None and before.is_free and before.mapped == block.mapped:
            self._leave(before)
            before.swallow_next()
            block = before
        if after is not None and after.is_free and after.mapped == block.mapped:
            self._leave(after)
            block.swallow_next()
        return block

    def _leave(self, block: Block) -> None:
        block.pool.take(block)

    def _reserve(self, n_bytes: int) -> None:
        self.reserved_bytes += n_bytes
        self.peak_reserved_bytes = max(self.peak_reserved_bytes, self.reserved_bytes)
