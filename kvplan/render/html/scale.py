"""Scales of charts: from values to hundredths of a side, with ticks at round numbers."""

import math
from collections.abc import Sequence
from typing import NamedTuple


class Linear(NamedTuple):
    """From ``low`` to ``high``, evenly."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Hundredths of the side; beyond both ends as far as it lies."""
        return 100 * (value - self.low) / ((self.high - self.low) or 1)


class Log(NamedTuple):
    """From ``low`` to ``high``, both above 0; each doubling is as wide as another."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Hundredths of the side; the middle where both ends are one."""
        if self.low == self.high:
            return 50.0
        return 100 * math.log(value / self.low) / math.log(self.high / self.low)


def ticks(high: float, *, n_most: int = 6) -> tuple[float, ...]:
    """Round numbers from 0 on, the last one at or above ``high``: steps of 1, 2 or 5 times a power of ten, ``n_most`` at most."""
    if high <= _SLACK:
        return (0.0, 1.0)
    magnitude = 10.0 ** math.floor(math.log10(high / n_most))
    step = next(factor * magnitude for factor in (1, 2, 5, 10, 20, 50) if math.ceil(high / (factor * magnitude) - _SLACK) < n_most)
    return tuple(round(i * step, 12) for i in range(math.ceil(high / step - _SLACK) + 1))


_SLACK = 1e-9  # of divisions that come out a bit above a whole number


def thinned(n_values: int, *, n_most: int) -> Sequence[int]:
    """Which of ``n_values`` labels to show, the first and evenly spaced ones, so that up to ``n_most`` are left."""
    return range(0, n_values, max(1, -(-n_values // n_most)))


def path(points: Sequence[tuple[float, float]]) -> str:
    """A line through points, as SVG draws it."""
    return "M" + "L".join(f"{x:g},{y:g}" for x, y in ((round(x, 2), round(y, 2)) for x, y in points))
