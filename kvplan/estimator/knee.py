"""Where more sequences at once stop making more tokens a second, while memory goes on growing."""

from collections.abc import Iterable
from math import log2
from typing import NamedTuple

from kvplan.estimator.swept import Point

WORTH = 1.2
"""How many times the tokens per second a doubling of the batch must bring for the rate to count as rising: a convention of ours."""

LEAST = 3
"""Batches that a curve needs to have a knee."""


class Pace(NamedTuple):
    """What a batch gives and takes: tokens per second over all sequences, bytes that it needs."""

    batch: int
    tokens_per_s: float
    needed_bytes: int


class Knee(NamedTuple):
    """``at`` are the values of all axes but the batch. From ``last`` on no doubling brings ``WORTH``, and ``after`` is the next batch
    that was looked at; None where ``last``, the largest, still rises."""

    at: tuple[str | None, ...]
    last: Pace
    after: Pace | None


class Curves:
    """Rate and memory by batch, for each choice of all else, filled point by point."""

    def __init__(self) -> None:
        """Without a point."""
        self._found: dict[tuple[str | None, ...], set[Pace]] = {}

    def add(self, at: tuple[str | None, ...], pace: Pace) -> None:
        """A batch, which is the last value of ``at``, as it runs."""
        self._found.setdefault(at[:-1], set()).add(pace)

    def add_point(self, point: Point, tokens_per_s: float | None) -> None:
        """The same of an estimate, if it starts and its rate is known."""
        if point.starts and tokens_per_s and point.load and point.needed:
            self.add(point.at, Pace(point.load.batch, tokens_per_s, point.needed.best))

    @property
    def knees(self) -> tuple[Knee, ...]:
        """One for each choice with ``LEAST`` batches."""
        return tuple(_knee(at, sorted(curve)) for at, curve in self._found.items() if len(curve) >= LEAST)


def knees(points: Iterable[Point]) -> tuple[Knee, ...]:
    """Those of estimates that are all there; a rate is looked for where a point starts."""
    curves = Curves()
    for point in points:
        rate = point.tokens_per_s if point.starts else None
        curves.add_point(point, rate and rate.best)
    return curves.knees


def _knee(at: tuple[str | None, ...], curve: list[Pace]) -> Knee:
    i = len(curve) - 1
    while i and not _rises(curve[i - 1], curve[i]):
        i -= 1
    return Knee(at, curve[i], curve[i + 1] if i + 1 < len(curve) else None)


def _rises(first: Pace, then: Pace) -> bool:
    return log2(then.tokens_per_s / first.tokens_per_s) >= log2(WORTH) * log2(then.batch / first.batch)
