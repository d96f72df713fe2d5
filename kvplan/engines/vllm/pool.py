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
    """The groups of a model and the bytes of one block on each pipeline stage; ``null_block``: the check holds one back; ``by_group``: it
    counts blocks, what groups waste included, not the pages of each layer."""

    groups: tuple[Group, ...]
    block_bytes: tuple[int, ...]
    demand: Demand
    null_block: bool = True
    by_group: bool = True

    def request_blocks(self, max_model_len: int) -> int:
        """Blocks of one request of ``max_model_len`` tokens, over all groups."""
        return sum(max(request_blocks(slot, max_model_len, *self.demand) for slot in group.slots) for group in self.groups)

    def needed_bytes(self, max_model_len: int, stage: int) -> int:
        """What the fit check asks for one request on a stage.

        Source: vllm 0.33 v1/core/kv_cache_planning.py, _max_memory_usage_bytes_from_groups; before 0.14 the pages of all layers.
        """
        if self.by_group:
            return self.request_blocks(max_model_len) * self.block_bytes[stage]
        pages = ((member.slot, member.slot.page_bytes) for group in self.groups for member in group.members if member.stage == stage)
        return sum(page * request_blocks(slot, max_model_len, *self.demand) for slot, page in pages)

    def n_blocks(self, available: Sequence[int], override: int | None) -> int:
        """Blocks of the poorest stage; ``override`` replaces them. A model without a cache has one, the null block."""
        if override is not None:
            return override
        found = [free // size for free, size in zip(available, self.block_bytes, strict=True) if size]
        return min(found, default=1)

    def checked(self, available: Sequence[int], override: int | None) -> tuple[tuple[int, int], ...]:
        """The bytes that the fit check plans with on each stage that keeps a cache, and that stage."""
        return tuple(
            ((free if override is None else override * size) - (size if self.null_block else 0), stage)
            for stage, (free, size) in enumerate(zip(available, self.block_bytes, strict=True))
            if size
        )

    def longest(self, budget: int, stage: int, limit: int) -> int:
        """The largest length up to ``limit`` whose request fits ``budget`` bytes of one stage, 0 if none.

        Source: vllm 0.33 v1/core/kv_cache_planning.py, _estimate_max_model_len_from_groups.
        """
        if self.needed_bytes(1, stage) > budget:
            return 0
        low, high = 1, limit
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.needed_bytes(middle, stage) <= budget else (low, middle - 1)
        return low


def pool(groups: tuple[Group, ...], n_stages: int, demand: Demand, *, null_block: bool, by_group: bool) -> Pool:
    """The pool of these groups; a block is as large as the widest group on its stage.

    Source: vllm 0.33 kv_cache_planning.py, _get_kv_cache_bytes_per_block.
    """
    sizes = tuple(max((group.bytes_on(stage) for group in groups), default=0) for stage in range(n_stages))
    return Pool(groups, sizes, demand, null_block, by_group)
