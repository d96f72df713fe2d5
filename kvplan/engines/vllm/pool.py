"""The pool of cache blocks: how many there are, what one request takes, and what fits."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.ledger import Interval
from kvplan.engines.vllm.demand import Demand, held_blocks, request_blocks
from kvplan.engines.vllm.groups import Group
from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.slots import Slot


class Pool(NamedTuple):
    """The groups of a model and the bytes of one block on each pipeline stage.

    ``null_blocks`` are those that stand for freed ones and that no request may take; ``null_block``: the fit check holds one back;
    ``by_group``: it counts blocks, what groups waste included, not the pages of each layer. ``tables`` are the distinct slots of a
    group, and how many groups have these.
    """

    groups: tuple[Group, ...]
    tables: tuple[tuple[tuple[Slot, ...], int], ...]
    block_bytes: tuple[int, ...]
    demand: Demand
    null_block: bool = True
    by_group: bool = True
    null_blocks: int = 1

    def request_blocks(self, max_model_len: int) -> int:
        """Blocks of one request of ``max_model_len`` tokens as vLLM reckons them, over all groups."""
        return sum(n * max(request_blocks(slot, max_model_len, self.demand) for slot in slots) for slots, n in self.tables)

    def held_blocks(self, ctx_tokens: int, batch: int) -> Interval:
        """Blocks of the pool that ``batch`` sequences of ``ctx_tokens`` need, the null block included."""
        low = best = high = self.null_blocks if self.groups else 0
        for slots, n in self.tables:
            if len(slots) == 1:
                least, likely, most = held_blocks(slots[0], ctx_tokens, batch, self.demand)
            else:
                held = [held_blocks(slot, ctx_tokens, batch, self.demand) for slot in slots]
                least, likely, most = (max(bound) for bound in zip(*held, strict=True))
            low, best, high = low + n * least, best + n * likely, high + n * most
        return Interval(low, best, high)

    def most_sequences(self, n_blocks: int, ctx_tokens: int, limit: int) -> int:
        """The most sequences of ``ctx_tokens`` up to ``limit`` that ``n_blocks`` hold for certain."""
        low, high = 0, limit
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.held_blocks(ctx_tokens, middle).high <= n_blocks else (low, middle - 1)
        return low

    def needed_bytes(self, max_model_len: int, stage: int) -> int:
        """What the fit check asks for one request on a stage.

        Source: vllm 0.33 v1/core/kv_cache_planning.py, _max_memory_usage_bytes_from_groups; before 0.14 the pages of all layers.
        """
        if self.by_group:
            return self.request_blocks(max_model_len) * self.block_bytes[stage]
        pages = ((member.slot, member.slot.page_bytes) for group in self.groups for member in group.members if member.stage == stage)
        return sum(page * request_blocks(slot, max_model_len, self.demand) for slot, page in pages)

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


def pool(groups: tuple[Group, ...], n_stages: int, demand: Demand, rules: Rules) -> Pool:
    """The pool of these groups; a block is as large as the widest group on its stage. V0 has no null block.

    Source: vllm 0.33 kv_cache_planning.py, _get_kv_cache_bytes_per_block.
    """
    sizes = tuple(max((group.bytes_on(stage) for group in groups), default=0) for stage in range(n_stages))
    tables = tuple(Counter(group.slots for group in groups).items())
    return Pool(groups, tables, sizes, demand, rules.reserves_null_block, rules.needs_by_group, int(rules.v1))
