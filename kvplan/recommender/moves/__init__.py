"""The rules of advice, one file each, in the order in which they are worth trying.

A move has ``ORDER``, ``KNOBS`` (what it turns), ``LOWERS`` (what it never raises: ``needed``, what the workload needs of a place;
``total``, what the process holds; ``short``, what is missing; None for advice without bytes), ``EASES`` (tried only where a plan does
not fit), ``SOURCE``, ``plans(plan, case)``, which gives plans with its knobs turned, the gentlest first, and none where it does not
apply, and ``said(before, after, case)``, the finding that a proposal with it carries.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from kvplan import _discover
from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

MOVES = "kvplan.recommender.moves"


class Move(Protocol):
    """One rule of advice."""

    ORDER: int
    KNOBS: tuple[str, ...]
    LOWERS: str | None
    EASES: bool
    SOURCE: str

    def plans(self, plan: Plan, case: Case) -> Iterator[Plan]:
        """Plans with its knobs turned, the gentlest first."""
        ...

    def said(self, before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
        """What to say of a proposal that differs so from where the search began."""
        ...


def moves() -> Sequence[Move]:
    """Every move, in the order of the advice."""
    return sorted((cast("Move", module) for module in _discover.modules(MOVES).values()), key=lambda move: move.ORDER)
