"""When a request was sent, as logs write it."""

from datetime import datetime

_END = 253_402_300_800  # seconds to the year 10000; more are thousandths, millionths or billionths of one


def seconds(found: object) -> float | None:
    """Seconds since 1970, of a number or an ISO date; None of anything else."""
    if isinstance(found, str):
        try:
            found = datetime.fromisoformat(found).timestamp()
        except (ValueError, OverflowError):
            return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < _END * 10**9:
        return None
    return next(found / part for part in (1, 10**3, 10**6, 10**9) if found < _END * part)
