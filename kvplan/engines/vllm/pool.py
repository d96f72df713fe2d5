"""The pool of cache blocks: how many there are, what one request takes, and what fits."""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.engines.vllm.groups import Group
from kvplan.engines.vllm.pages import request_blocks


class Demand(NamedTuple):
    """What one request takes beside its length: tokens in flight, context-parallel ranks, tokens of an encoder's input."""

    in_flight: int
    dcp: int
    encoder_tokens: int


class Pool(NamedTuple):
    """The groups of a model and the bytes of one block on each pipeline stage; ``null_block``: the check holds one back."""

    groups: tuple[Group, ...]
    block_bytes: tuple[int, ...]
    demand: Demand
    null_block: bool = True

    def request_blocks(self, max_model_len: int) -> int:
        """Blocks of one request of ``max_model_len`` tokens, over all groups."""
        return sum(max(request_blocks(slot, max_model_len, *self.demand) for slot in group.slots) for group in self.groups)

    def n_blocks(self, available: Sequence[int], override: int | None) -> int:
        """Blocks of the poorest stage; ``override`` replaces them. A model without a cache has one, the null block."""
        if override is not None:
            return override
        found = [free // size for free, size in zip(available, self.block_bytes, strict=True) if size]
        return min(found, default=1)

    def checked(self, available: Sequence[int], override: int | None) -> tuple[tuple[int, int], ...]:
        """For each stage that keeps a cache: the bytes that the fit check plans with, and those of one block."""
        return tuple(
            ((free if override is None else override * size) - (size if self.null_block else 0), size)
            for free, size in zip(available, self.block_bytes, strict=True)
            if size
        )

    def longest(self, budget: int, block_bytes: int, limit: int) -> int:
        """The largest length up to ``limit`` whose request fits ``budget`` bytes of one stage, 0 if none.

        Source: vllm 0.33 v1/core/kv_cache_planning.py, _estimate_max_model_len_from_groups.
        """
        most = budget // block_bytes
        if self.request_blocks(1) > most:
            return 0
        low, high = 1, limit
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.request_blocks(middle) <= most else (low, middle - 1)
        return low


def pool(groups: tuple[Group, ...], n_stages: int, demand: Demand, *, null_block: bool) -> Pool:
    """The pool of these groups; a block is as large as the widest group on its stage.

    Source: vllm 0.33 kv_cache_planning.py, _get_kv_cache_bytes_per_block.
    """
    sizes = tuple(max((group.bytes_on(stage) for group in groups), default=0) for stage in range(n_stages))
    return Pool(groups, sizes, demand, null_block)
