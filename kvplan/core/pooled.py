"""A model on a server that reserves a pool of tokens: the ledger, the need and the capacity, whatever engine sized the pool."""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from kvplan.core.cells import Cells
from kvplan.core.device import Node
from kvplan.core.engine import Capacity
from kvplan.core.ledger import ZERO, Basis, Entry, Finding, Interval, KvPlan, NotModeled, Phases, Refusal, exactly, total
from kvplan.core.pace import Held, held
from kvplan.core.token_pool import Pool
from kvplan.core.workload import Workload

POOL = "kv cache pool"


class Rank(NamedTuple):
    """One rank of a pipeline stage: what it holds beside its pool (entries without a place), its layers, its pool, and the bytes that
    this may have, negative where nothing is left; None where no GPU is known."""

    beside: tuple[Entry, ...]
    cells: Cells
    pool: Pool
    budget: Interval | None


class Plan(NamedTuple):
    """What an engine makes of a model, its settings and a node.

    ``ranks`` are by pipeline stage, each on ``tp`` GPUs; ``limit`` is the most tokens that a sequence may have, ``said`` whether the
    settings say so, ``most`` the most sequences at once. ``source`` is where the pool's arithmetic comes from.
    """

    ranks: tuple[Rank, ...]
    tp: int
    dtype: str
    limit: int
    said: bool
    most: int
    source: str
    refusals: tuple[Refusal, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_modeled: tuple[NotModeled, ...] = ()
    lines: tuple[str, ...] = ()


class Sized(NamedTuple):
    """Tokens and slots of states of the poorest rank."""

    tokens: int
    slots: int


def sized(ranks: tuple[Rank, ...], bound: int) -> Sized:
    """What the poorest rank holds; ``bound`` chooses among the low, best and high of its budget."""
    budgets = [(rank.pool, rank.budget[bound]) for rank in ranks if rank.budget is not None]
    tokens = min((pool.tokens_in(budget) for pool, budget in budgets if pool.parts), default=0)
    return Sized(tokens, min((pool.slots_in(max(0, budget)) for pool, budget in budgets if pool.states), default=0))


class PooledDeployment:
    """Implements the seam's Deployment."""

    def __init__(self, plan: Plan, node: Node) -> None:
        """Everything was computed already."""
        self._plan, self._node = plan, node
        self.refusals, self.findings, self.not_modeled = plan.refusals, plan.findings, plan.not_modeled
        places = node.places()[: max(1, plan.tp * len(plan.ranks))]
        self._stages = {place.id: min(i // plan.tp, len(plan.ranks) - 1) for i, place in enumerate(places)}
        self._cards = {place.id: place.usable_bytes or 0 for place in node.places()}
        self._beside = tuple(total(entry.size for entry in rank.beside) for rank in plan.ranks)

    @cached_property
    def _sizes(self) -> tuple[Sized, Sized, Sized]:
        low, best, high = (sized(self._plan.ranks, bound) for bound in range(3))
        return low, best, high

    @property
    def _known(self) -> bool:
        return self._plan.ranks[0].budget is not None

    def entries(self, load: Workload) -> tuple[Entry, ...]:
        """The ledger of every GPU, listed for the one with most beside its pool: ranks of a stage are alike."""
        shown = max(self._stages, key=lambda place: self._beside[self._stages[place]].best)
        return tuple(
            entry._replace(listed=place == shown) for place, stage in self._stages.items() for entry in self._lines(place, stage, load)
        )

    def _lines(self, place: str, stage: int, load: Workload) -> tuple[Entry, ...]:
        rank = self._plan.ranks[stage]
        beside = tuple(entry._replace(place=place) for entry in rank.beside)
        size = self._reserved(stage) if self._known else exactly(self._demand(stage, load))
        basis: Basis = "exact" if size.low == size.high else "modeled"
        inputs: dict[str, int | str] = {"bytes_per_token": rank.pool.token_bytes, "page": rank.pool.page_tokens}
        name = POOL if self._known else "kv cache"
        formula = "tokens in whole pages of {page} · {bytes_per_token} B, and the states of its sequences"
        return (*beside[:1], Entry("kv_cache", name, place, size, basis, formula, inputs, self._plan.source), *beside[1:])

    def _reserved(self, stage: int) -> Interval:
        pool = self._plan.ranks[stage].pool
        found = [pool.n_bytes(each.tokens) * bool(each.tokens) + pool.state_bytes(each.slots) * bool(each.slots) for each in self._sizes]
        return Interval(found[0], found[1], found[2])

    def _demand(self, stage: int, load: Workload) -> int:
        """What the workload takes of the pool: of one whose parts are in fixed proportions, what comes with the part it needs most."""
        pool = self._plan.ranks[stage].pool
        used = pool.used(load.ctx_tokens, load.batch)
        if not self._known:
            return used
        best, reserved = self._sizes[1], self._reserved(stage).best
        fits = pool.fits(best.tokens, best.slots, load.ctx_tokens, load.batch)
        return min(used, reserved) if fits else max(used, reserved + 1)

    def need_bytes(self, place: str, load: Workload) -> Interval:
        """Everything but the pool, and what this workload takes of it."""
        stage = self._stages.get(place)
        return ZERO if stage is None else self._beside[stage].plus(exactly(self._demand(stage, load)))

    def usable_bytes(self, place: str) -> int | None:
        """All that the engine holds beside the pool, and the pool, up to what the card has; None where no pool is known."""
        stage = self._stages.get(place)
        if stage is None or not self._known or not self._node.gpus:
            return None
        return min(self._cards[place], self._beside[stage].best + self._reserved(stage).best)

    def phases(self, load: Workload) -> Phases:
        """The weights while loading; the pool is reserved at once, so later phases have no peaks of their own."""
        weights = (total(entry.size for entry in rank.beside if entry.term == "weights").best for rank in self._plan.ranks)
        return Phases(max(weights), None, None)

    def kv(self, load: Workload) -> KvPlan:
        """The cache of the stage that holds most of it."""
        stage = max(range(len(self._plan.ranks)), key=lambda i: self._plan.ranks[i].pool.token_bytes)
        rank = self._plan.ranks[stage]
        reserved = self._demand(stage, load)
        ideal, longer = (_ideal(rank.cells, n) for n in (load.ctx_tokens, load.ctx_tokens + 1))
        return KvPlan(
            k_dtype=self._plan.dtype,
            v_dtype=self._plan.dtype,
            bytes_per_token=sum(cell.n_bytes for cell in rank.cells.tokens),
            marginal_bytes_per_token=longer - ideal,
            state_bytes_per_sequence=rank.cells.state_bytes,
            ideal_bytes=min(reserved, load.batch * ideal),
            reserved_bytes=reserved,
            groups=rank.cells.every_group(),
        )

    def held(self) -> Held:
        """What steps read."""
        load = Workload(1, 1, 1)
        return held(self.entries(load), self.kv(load))

    def capacity(self, load: Workload) -> Capacity | None:
        """The pool; None where no GPU is known."""
        if not self._known:
            return None
        plan, best = self._plan, self._sizes[1]
        poorest = min(plan.ranks, key=lambda rank: rank.budget.best if rank.budget else 0)
        pool = poorest.pool
        each = [pool.at_once(found.tokens, found.slots, plan.limit if plan.said else load.ctx_tokens) for found in self._sizes]
        return Capacity(
            kv_budget=poorest.budget,
            block_tokens=pool.page_tokens if pool.parts else None,
            bytes_per_block=pool.page_tokens * pool.token_bytes,
            n_blocks=best.tokens // pool.page_tokens,
            kv_tokens=Interval(*(found.tokens for found in self._sizes)),
            max_concurrency=(each[0], each[1], each[2]),
            max_ctx_tokens=pool.longest(best.tokens, best.slots, plan.limit),
            max_batch=self._most(load),
        )

    def _most(self, load: Workload) -> int:
        """The largest batch that fits for certain."""
        rooms = [
            (stage, usable - self._beside[stage].high) for place, stage in self._stages.items() if (usable := self.usable_bytes(place))
        ]
        low, high = 0, self._plan.most
        while low < high:
            middle = (low + high + 1) // 2
            fits = all(self._demand(stage, load._replace(batch=middle)) <= room for stage, room in rooms)
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

    def resolved(self) -> Mapping[str, int]:
        """None: what was asked for holds, or is refused."""
        return {}

    def log_lines(self) -> tuple[str, ...]:
        """What the engine prints of its pool."""
        return self._plan.lines


def _ideal(found: Cells, n_tokens: int) -> int:
    """Bytes that one sequence must keep, whatever the pages."""
    return found.state_bytes + sum(cell.n_bytes * min(n_tokens, cell.window_tokens or n_tokens) for cell in found.tokens)
