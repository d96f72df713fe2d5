"""What a change did to the servers of a tree, as a report carries it."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from kvplan.checker.case import Case, Found

Kind = Literal["worse", "unresolvable", "new", "better", "neutral", "removed"]
KINDS: tuple[Kind, ...] = ("worse", "unresolvable", "new", "better", "neutral", "removed")
"""In the order in which people want to read them."""


class Shift(NamedTuple):
    """A figure before and after; None where there is none."""

    name: str
    before: int | float | str | None
    after: int | float | str | None


class Upgrade(NamedTuple):
    """What another version of the engine does by itself: today's settings, held by the version before and by today's.

    ``figures`` are those that differ (context, concurrency, tokens, the verdict), ``terms`` the bytes of each term that does. Both are
    empty where one of the versions is not modeled, or the server's memory is not known.
    """

    engine: str
    before: str
    after: str
    figures: Sequence[Shift] = ()
    terms: Sequence[Shift] = ()
    is_known: bool = True


class Change(NamedTuple):
    """One server before and after: None before where it is new, None after where it is gone.

    ``decided_by`` is the rule or the figure that tells better from worse.
    """

    kind: Kind
    before: Case | None
    after: Case | None
    decided_by: str | None = None
    brought: Sequence[Found] = ()
    cured: Sequence[Found] = ()
    upgrade: Upgrade | None = None


class Diff(NamedTuple):
    """``base`` as it was named, ``revision`` the commit that it is, None for a folder. ``n_known`` findings were there before."""

    base: str
    revision: str | None
    changes: Sequence[Change]
    n_unchanged: int = 0
    n_known: int = 0
    cured: Sequence[Found] = ()
