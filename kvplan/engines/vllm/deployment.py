"""One model on vLLM with resolved settings on one node: its pool, its ledger, its words."""

from collections.abc import Mapping
from functools import cached_property

from kvplan.core.device import Node
from kvplan.core.engine import Capacity
from kvplan.core.ledger import ZERO, Entry, Finding, Interval, KvPlan, NotModeled, Phases, Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.pace import Held, held
from kvplan.core.workload import Workload
from kvplan.engines.vllm import budget, entries, log
from kvplan.engines.vllm.length import length
from kvplan.engines.vllm.refusals import config_refusals
from kvplan.engines.vllm.report import kv_plan
from kvplan.engines.vllm.resident import resident
from kvplan.engines.vllm.settings import Settings


class Deployment:
    """Implements the seam's Deployment: a rank's weights, what its profile run finds, and a pool of blocks in what is left."""

    def __init__(self, model: ModelSpec, settings: Settings, node: Node) -> None:
        """Everything that no workload changes is computed once, here or for all lengths together."""
        self._model, self._settings, self._node = model, settings, node
        at = resident(model, settings, node)
        self._rules, self._cache, self._held, self._taken, self._available = at.rules, at.cache, at.weighed, at.taken, at.available
        self._stages, self._cards, self._beside = at.stages, at.cards, at.beside
        self._refused = at.refusals
        self._last: tuple[Workload, list[Interval]] | None = None
        self.findings: tuple[Finding, ...] = at.findings
        self.not_modeled: tuple[NotModeled, ...] = at.not_modeled

    @cached_property
    def refusals(self) -> tuple[Refusal, ...]:
        """What vLLM says no to: the settings first, then the card, then the cache."""
        found = config_refusals(self._model, self._settings, self._node, self._rules, self._refused)
        if found or self._cache.problem is not None:
            return found or (Refusal("KV118", "config", self._cache.problem or ""),)
        found = budget.start_refusals(self._settings, self._node, self._taken)
        if self._budgets is None or not self._cache.pool.groups:
            return found
        return (*found, *budget.cache_refusals(self._settings, self._cache.pool, self._budgets, self._rules))

    @cached_property
    def _budgets(self) -> tuple[int, ...] | None:
        return None if self._available is None else tuple(free.best for free in self._available)

    @cached_property
    def _best_blocks(self) -> int:
        return self._cache.pool.n_blocks(self._budgets or (), self._settings.num_gpu_blocks_override)

    @cached_property
    def _max_model_len(self) -> int:
        """What the engine runs with, at least 1."""
        return max(1, budget.fitted_len(self._settings, self._cache.pool, self._budgets)) if self._budgets else self._settings.max_model_len

    def entries(self, load: Workload) -> tuple[Entry, ...]:
        """The ledger of every GPU, listed for the one with most weights: ranks of a stage are alike.

        The pool is what the engine reserves, or the workload's blocks where no GPU is known.
        """
        stages = self._stages
        shown = max(stages, key=lambda place: self._held.weights[stages[place]].best)
        return tuple(entry._replace(listed=place == shown) for place, stage in stages.items() for entry in self._lines(place, stage, load))

    def _lines(self, place: str, stage: int, load: Workload) -> tuple[Entry, ...]:
        size, block_bytes = self._held.weights[stage], self._cache.pool.block_bytes[stage]
        found = [entries.weights(size, self._held.n_params, self._settings, place)]
        if self._held.drafted[stage]:
            found.append(entries.drafter(self._held.drafted[stage], self._settings, place))
        found += entries.after_loading(self._held.copies[stage], self._held.adapters, self._settings, place)
        profiled = self._taken[stage].profile
        if self._available is None:
            found.append(entries.blocks(self._demand(stage, load), place, load, block_bytes=block_bytes))
        else:
            found.append(entries.pool(self._pool_bytes(stage), place, profiled.basis, block_bytes=block_bytes))
        return (*found, *entries.profiled(profiled, self._model, self._settings, place))

    def need_bytes(self, place: str, load: Workload) -> Interval:
        """Everything but the pool, and the blocks that this workload takes of it."""
        stage = self._stages.get(place)
        if stage is None:
            return ZERO
        if self._last is None or self._last[0] is not load:  # all ranks of a stage are asked for the same
            self._last = load, [self._beside[i].plus(self._demand(i, load)) for i in range(self._settings.pp)]
        return self._last[1][stage]

    def usable_bytes(self, place: str) -> int | None:
        """All that the engine holds beside the pool, and the pool, up to what the card has; None where no pool is known."""
        stage = self._stages.get(place)
        if stage is None or self._budgets is None or not self._cache.pool.block_bytes[stage] or not self._node.gpus:
            return None
        return min(self._cards[place], self._beside[stage].best + self._best_blocks * self._cache.pool.block_bytes[stage])

    def phases(self, load: Workload) -> Phases:
        """The weights while loading; vLLM reserves its cache at once, so later phases have no peaks of their own."""
        return Phases(max(self._held.built_bytes, *(held.weights.best for held in self._taken)), None, None)

    def kv(self, load: Workload) -> KvPlan:
        """The cache of the stage that holds most of it."""
        stage = max(range(self._settings.pp), key=lambda i: self._cache.pool.block_bytes[i])
        return kv_plan(self._model, self._cache, load, stage, self._settings.dtype)

    def held(self) -> Held:
        """What steps read."""
        load = Workload(1, 1, 1)
        return held(self.entries(load), self.kv(load))

    def capacity(self, load: Workload) -> Capacity | None:
        """The pool, also where the engine refuses for lack of it; None where no GPU is known."""
        if self._available is None or self._budgets is None:
            return None
        pool, blocks = self._cache.pool, self._n_blocks()
        each = [self._printed(n) for n in blocks]
        poorest = min(range(self._settings.pp), key=lambda i: self._available[i].best if self._available else 0)
        checked = pool.checked(self._budgets, self._settings.num_gpu_blocks_override)
        limit = length(self._model, self._rules).most or self._settings.max_model_len
        return Capacity(
            kv_budget=self._available[poorest],
            block_tokens=self._block_tokens(),
            bytes_per_block=pool.block_bytes[poorest],
            n_blocks=blocks.best,
            kv_tokens=Interval(*(tokens for tokens, _ in each)),
            max_concurrency=(each[0][1], each[1][1], each[2][1]),
            max_ctx_tokens=min((pool.longest(free, stage, limit) for free, stage in checked), default=limit),
            max_batch=pool.most_sequences(self._certain_blocks(blocks.low), load.ctx_tokens, self._settings.max_num_seqs),
        )

    def _block_tokens(self) -> int | None:
        """Tokens of a block of attention, None where there is none; windows and waiting states may have smaller ones."""
        slots = [slot for group in self._cache.pool.groups for slot in group.slots if "state" not in slot.kind]
        whole = [slot for slot in slots if not slot.window_tokens]
        return min((slot.block_tokens for slot in whole or slots), default=None)

    def resolved(self) -> Mapping[str, int]:
        """None: what was asked for holds, or is refused."""
        return {}

    def log_lines(self) -> tuple[str, ...]:
        """What vLLM prints of its pool, nothing where it would not start."""
        if self._available is None or self._budgets is None or self.refusals or not self._cache.pool.groups:
            return ()
        tokens, concurrency = self._printed(self._cache.pool.n_blocks(self._budgets, self._settings.num_gpu_blocks_override))
        lines = log.capacity_lines(tokens, concurrency, self._max_model_len, self._rules)
        if not self._settings.auto_fit:
            return lines
        return (log.auto_fit_line(self._settings.max_model_len, self._max_model_len, min(self._budgets)), *lines)

    def _printed(self, n_blocks: int) -> tuple[int, float]:
        """Tokens and concurrency as the log has them.

        Source: vllm 0.33 v1/core/kv_cache_utils.py, get_kv_cache_capacity; before 0.20.2 blocks shared among the groups.
        """
        pool = self._cache.pool
        per_request = pool.request_blocks(self._max_model_len)
        if not per_request:
            return 0, 0.0
        concurrency = n_blocks / per_request
        if self._rules.tokens_by_concurrency:
            return int(concurrency * self._max_model_len), concurrency
        block = min(slot.block_tokens for group in pool.groups for slot in group.slots)
        return n_blocks // len(pool.groups) * block * self._settings.dcp * self._settings.pcp, concurrency

    def _certain_blocks(self, fewest: int) -> int:
        """Blocks on every stage if all the rest takes the most it may; the ``fewest`` of the pool where no card is known."""
        spare = (
            (usable - self._beside[stage].high) // self._cache.pool.block_bytes[stage]
            for place, stage in self._stages.items()
            if (usable := self.usable_bytes(place)) is not None
        )
        return max(0, min(spare, default=fewest))

    def _demand(self, stage: int, load: Workload) -> Interval:
        """Bytes of the blocks that the workload takes."""
        size = self._cache.pool.block_bytes[stage]
        low, best, high = self._cache.pool.held_blocks(load.ctx_tokens, load.batch)
        return Interval(low * size, best * size, high * size)

    def _pool_bytes(self, stage: int) -> Interval:
        """Bytes of the pool on one rank: whole blocks, as many as the poorest stage has."""
        size = self._cache.pool.block_bytes[stage]
        low, best, high = self._n_blocks()
        return Interval(low * size, best * size, high * size)

    def _n_blocks(self) -> Interval:
        """Blocks of the pool."""
        pool, override = self._cache.pool, self._settings.num_gpu_blocks_override
        low, best, high = (max(0, pool.n_blocks([free[i] for free in self._available or ()], override)) for i in range(3))
        return Interval(low, best, high)
