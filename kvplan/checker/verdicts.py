"""What a check says of a server in one word, and which of the accelerators that it may get says it."""

from kvplan.checker.bounds import is_certain
from kvplan.checker.case import Case, Tried
from kvplan.core.ledger import Verdict

ORDER: tuple[Verdict, ...] = ("does_not_fit", "tight", "fits", "unknown")


def worst(case: Case) -> Tried | None:
    """The accelerator with the worst verdict; None for a server that is tried on none."""
    return min(case.tried, key=lambda tried: ORDER.index(verdict(case, tried)), default=None)


def verdict(case: Case, tried: Tried | None) -> Verdict:
    """Whether the server starts there and holds its load, as far as that is known."""
    if tried is None or tried.estimate is None:
        return "unknown"
    if is_certain(case, tried):
        return "does_not_fit"
    if tried.estimate.refusals:
        return "tight"
    pool = tried.estimate.capacity.max_concurrency if tried.estimate.capacity else None
    if pool is None:
        return tried.estimate.verdict
    return "fits" if pool[0] >= 1 else "tight"  # it starts, and holds at least one longest sequence
