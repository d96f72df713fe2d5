"""What is kept of a log: figures, events, starts."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.core.logs import Mark
from kvplan.core.units import GIB, KIB, MIB, TIB

UNITS = {"B": 1, "bytes": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB, "KB": KIB, "MB": MIB, "GB": GIB, "TB": TIB}
"""Engines write GB and mean GiB."""
MOST_ALIKE = 64  # figures of one label that are kept, and the last one


class Figure(NamedTuple):
    """A number that the log prints. ``device`` and ``rank`` say whose it is where the line does."""

    label: str
    value: float
    unit: str | None
    line: int
    start: int
    device: str | None = None
    rank: str | None = None

    @property
    def bytes(self) -> int | None:
        """Its size, None where it is none."""
        factor = UNITS.get(self.unit or "")
        return None if factor is None else round(self.value * factor)


class Event(NamedTuple):
    """A line that says what happened."""

    mark: Mark
    sign: str
    line: int
    text: str


class Start:
    """One process from its first line to its last, or to the next one's first."""

    def __init__(self, number: int, line: int) -> None:
        """``number`` counts from 1."""
        self.number, self.line = number, line
        self.figures: list[Figure] = []
        self.last: dict[str, Figure] = {}
        self.settings: dict[str, str] = {}
        self.events: list[Event] = []
        self.frames: dict[str, int] = {}
        self._alike: dict[str, int] = {}

    def add(self, figure: Figure) -> None:
        """Keep a figure: the first of each label, and the last one."""
        if self.last.get(figure.label) == figure:  # two formats share a line
            return
        n_alike = self._alike.get(figure.label, 0)
        self._alike[figure.label] = n_alike + 1
        if n_alike < MOST_ALIKE:
            self.figures.append(figure)
        self.last[figure.label] = figure

    def every(self) -> Iterator[Figure]:
        """All that were kept, in the order of their lines."""
        kept = self.figures
        tail = [figure for label, figure in self.last.items() if self._alike[label] > MOST_ALIKE]
        yield from sorted((*kept, *tail), key=lambda figure: figure.line)

    @property
    def is_under_way(self) -> bool:
        """Whether it came so far that another beginning is another start."""
        return any(event.mark in ("ready", "pool", "refused", "oom") for event in self.events)
