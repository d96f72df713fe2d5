"""KV505: what lies outside the engine's share of the GPU does not fit beside it."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import found, gib, on, spelled
from kvplan.core.ledger import Fix


def check(case: Case) -> Iterator[Found]:
    """A warning where context, graphs and the like need more than the share leaves, by the best guess."""
    for tried in case.tried:
        estimate = tried.estimate
        if estimate is None or estimate.refusals or estimate.capacity is None or estimate.capacity.n_blocks is None:
            continue
        capacity, total = estimate.fullest.place.capacity_bytes, estimate.fullest.total
        if capacity is None or total.best <= capacity:
            continue
        share = case.reading.utilization
        lower = _lower(0.9 if share is None else share, total.best - capacity, capacity)
        message = f"{gib(total.best)} are held {on(tried)} of {gib(capacity)}: what lies outside the share runs out of memory under load"
        flag = spelled(case.reading.engine).share
        fix = Fix(flag, "default" if share is None else f"{share:g}", f"{lower:g}", capacity - total.best)
        yield found("KV505", "warning", case, (flag,), message, f"{flag} {lower:g}", (fix,))


def _lower(share: float, over: int, capacity: int) -> float:
    """The share, in hundredths, that leaves the room."""
    return int((share - over / capacity) * 100) / 100
