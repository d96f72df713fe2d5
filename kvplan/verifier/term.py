"""One thing that was measured, and estimated where that could be done."""

from typing import NamedTuple

from kvplan.core.ledger import Interval


class Term(NamedTuple):
    """Right if it lies within the interval, widened by the tolerance; nothing is held against a term without an estimate."""

    term: str
    phase: str
    estimate: Interval | None
    measured_bytes: int
    tolerance_bytes: int

    @property
    def ok(self) -> bool:
        """Whether they agree."""
        if self.estimate is None:
            return True
        return self.estimate.low - self.tolerance_bytes <= self.measured_bytes <= self.estimate.high + self.tolerance_bytes
