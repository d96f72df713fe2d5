"""Fake tensors as PyTorch's caching allocators would place them: with segments by cudaMalloc, and with those that expand."""

import contextlib
from collections.abc import Iterator

from kvplan.core.allocator import Block, CachingAllocator
from kvplan.core.expandable import ExpandableAllocator
from kvplan.verifier.child.fake import Traced

Blocks = tuple[Block, ...]


class Simulated(Traced):
    """Lifetimes of fake tensors on a GPU, each storage replayed into both allocators."""

    def __init__(self, *, padded: bool = False) -> None:
        """Nothing is allocated."""
        super().__init__("cuda", padded=padded)
        self.native = CachingAllocator()
        self.expandable = ExpandableAllocator()
        self._blocks: dict[int, Blocks] = {}
        self._sizes: dict[int, int] | None = None  # of storages made while nobody replays them

    def take(self, n_bytes: int) -> None:
        """Allocate for the rest of the process, as a library does for its workspace."""
        self._malloc(n_bytes)
        self.live_bytes += n_bytes
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)

    def restart(self) -> None:
        """Count peaks from now on."""
        super().restart()
        for allocator in (self.native, self.expandable):
            allocator.restart()

    def empty_cache(self) -> None:
        """Give back what is reserved and not used."""
        for allocator in (self.native, self.expandable):
            allocator.empty_cache()

    @contextlib.contextmanager
    def unplaced(self) -> Iterator[None]:
        """Place nothing that is made inside until the end, and then only what is left of it, in the order in which it was made."""
        self._sizes = {}
        try:
            yield
        finally:
            left, self._sizes = self._sizes, None
            for key, n_bytes in left.items():
                self.made(key, n_bytes)

    def made(self, key: int, n_bytes: int) -> None:
        """Place a storage; one without bytes takes no place."""
        if self._sizes is not None:
            self._sizes[key] = n_bytes
        elif n_bytes:
            self._blocks[key] = self._malloc(n_bytes)

    def died(self, key: int) -> None:
        """Free its place."""
        if self._sizes is not None:
            self._sizes.pop(key, None)
        for allocator, block in zip((self.native, self.expandable), self._blocks.pop(key, ()), strict=False):
            allocator.free(block)

    def _malloc(self, n_bytes: int) -> Blocks:
        return self.native.malloc(n_bytes), self.expandable.malloc(n_bytes)
