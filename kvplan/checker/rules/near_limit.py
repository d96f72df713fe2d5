"""KV501: fits by the best guess, and not by the upper bound."""

from collections.abc import Iterator

from kvplan.checker import cures
from kvplan.checker.case import Case, Found
from kvplan.checker.wording import STARTS_ANYWAY, context_flags, found, gib, on
from kvplan.estimator import Estimate

_MORE_ROOM = "leave more room: a shorter context, or fewer sequences at once"


def check(case: Case) -> Iterator[Found]:
    """A warning where the interval of the need, or of an engine's pool, straddles what there is."""
    flags = context_flags(case.reading.engine)
    for tried in case.tried:
        estimate = tried.estimate
        if estimate is None or estimate.refusals:
            continue
        usable, capacity = estimate.fullest.usable_bytes, estimate.capacity
        pool = capacity.max_concurrency if capacity else None
        if pool is not None and pool[0] < 1 <= pool[1]:
            what = "hold the longest sequence" if case.reading.engine in STARTS_ANYWAY else "start"
            message = f"may not {what} {on(tried)}: the pool holds between {pool[0]:.2f} and {pool[2]:.2f} of the longest sequence"
            yield found("KV501", "warning", case, flags, message, _shorter(estimate, flags[0]))
        elif pool is None and usable is not None and estimate.needed.low <= usable < estimate.needed.high:
            needs = f"{gib(estimate.needed.low)} – {gib(estimate.needed.high)}"
            message = f"may not fit {on(tried)}: it needs {needs}, {gib(usable)} are usable"
            yield found("KV501", "warning", case, flags, message, _MORE_ROOM)


def _shorter(estimate: Estimate, flag: str) -> str:
    longest = estimate.capacity.max_ctx_tokens if estimate.capacity else None
    sure = cures.certain(estimate, longest) if longest else 0
    return f"{flag} {sure} starts for certain" if sure else _MORE_ROOM
