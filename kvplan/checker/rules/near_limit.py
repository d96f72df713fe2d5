"""KV501: fits by the best guess, and not by the upper bound."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import context_flags, found, gib, on

IDS = ("KV501",)


def check(case: Case) -> Iterator[Found]:
    """A warning where the interval of the need, or of an engine's pool, straddles what there is."""
    for tried in case.tried:
        estimate = tried.estimate
        if estimate is None or estimate.refusals:
            continue
        usable, capacity = estimate.fullest.usable_bytes, estimate.capacity
        pool = capacity.max_concurrency if capacity else None
        if pool is not None and pool[0] < 1 <= pool[1]:
            message = f"may not start {on(tried)}: the pool holds between {pool[0]:.2f} and {pool[2]:.2f} of the longest sequence"
        elif pool is None and usable is not None and estimate.needed.low <= usable < estimate.needed.high:
            needs = f"{gib(estimate.needed.low)} – {gib(estimate.needed.high)}"
            message = f"may not fit {on(tried)}: it needs {needs}, {gib(usable)} are usable"
        else:
            continue
        yield found(
            "KV501",
            "warning",
            case,
            context_flags(case.reading.engine),
            message,
            "leave more room: a shorter context, or fewer sequences at once",
        )
