"""A log read once, line by line: figures with their lines, settings, what happened, start by start."""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kvplan.core.logs import Mark
from kvplan.core.units import GIB, KIB, MIB, TIB
from kvplan.explainer import lines, shapes
from kvplan.explainer.templates import Template, signature

UNITS = {"B": 1, "bytes": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB, "KB": KIB, "MB": MIB, "GB": GIB, "TB": TIB}
"""Engines write GB and mean GiB."""
MOST_ALIKE = 64  # figures of one label that are kept, and the last one
MOST_STARTS = 100
_MOST_SIGNATURES = 50_000
_MOST_CHARS = 600
_RANK = re.compile(r"\((\w+?) (?:rank=\d+ )?(?:pid|ip)=(\d+)|\b((?:DP\d+ )?(?:PP\d+ )?TP\d+)[\]\s]|\[rank(\d+)\]|gpu_id=(\d+)")
_DISTINCT = re.compile(r"APIServer|EngineCore(?:_DP\d+)?|Worker_\w*TP\d+\w*")


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
        self.seen: set[str | None] = set()
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


class Reading(NamedTuple):
    """What a log says."""

    engine: str | None
    starts: tuple[Start, ...]
    n_lines: int
    pids: dict[str, str]


class _Reader:
    def __init__(self) -> None:
        self.starts: deque[Start] = deque([Start(1, 1)], maxlen=MOST_STARTS)
        self.pids: dict[str, str] = {}
        self.engines: dict[str, int] = {}

    @property
    def now(self) -> Start:
        return self.starts[-1]

    def read(self, number: int, text: str, templates: Iterable[Template]) -> None:
        rank = self._rank(number, text)
        for template in templates:
            found = template.pattern.search(text)
            if found is not None:
                self._take(template, found, number, rank)

    def _rank(self, number: int, text: str) -> str | None:
        """Who prints; the same process under another id is another start."""
        found = _RANK.search(text)
        if found is None:
            return None
        name, pid = found[1] or found[3] or found[4] or found[5], found[2]
        if pid and _DISTINCT.fullmatch(name) and self.pids.setdefault(name, pid) != pid:
            self.pids = {name: pid}
            self._begin(number)
        return name

    def _begin(self, number: int) -> None:
        if self.now.figures or self.now.events:
            self.starts.append(Start(self.now.number + 1, number))

    def _take(self, template: Template, found: re.Match[str], number: int, rank: str | None) -> None:
        mark, sign = template.shape.mark, template.shape.sign
        if mark == "start" and self.now.is_under_way:
            self._begin(number)
        start = self.now
        start.seen.add(template.engine)
        if template.engine is not None:
            self.engines[template.engine] = self.engines.get(template.engine, 0) + (mark != "frame")
        if mark == "frame":
            start.frames[sign] = number
        elif mark and (mark != "pool" or not start.events or start.events[-1].mark != "pool"):
            _note(start, Event(mark, sign, number, found.string.strip()[:_MOST_CHARS]))
        _figures(start, template, found, (number, rank))


def _note(start: Start, event: Event) -> None:
    """Keep an event; of the same sign the first ones and the last."""
    if start.events and start.events[-1][:3] == event[:3]:
        return
    alike = [at for at, kept in enumerate(start.events) if kept[:2] == event[:2]]
    if len(alike) >= 4:
        del start.events[alike[-1]]
    start.events.append(event)


def _figures(start: Start, template: Template, found: re.Match[str], where: tuple[int, str | None]) -> None:
    """What stands in the places of a line."""
    groups, units, at = found.groups(), [], 0
    values: list[str] = []
    for hole in template.holes:
        values.append(groups[at])
        units.append(groups[at + 1] if hole.n_groups == 2 else hole.unit)
        at += hole.n_groups
    said = {hole.name: value.strip(" '\"") for hole, value in zip(template.holes, values, strict=True) if hole.is_setting}
    device = said.pop("buffer", None) or said.pop("device", None)
    start.settings.update(said)
    for i, hole in enumerate(template.holes):
        if hole.is_setting:
            continue
        unit = units[i] if hole.unit or hole.n_groups == 2 else next((u for u in units[i + 1 :] if u in UNITS), None)
        start.add(Figure(hole.name, float(values[i].replace(",", "") or 0), unit, where[0], start.number, device, where[1]))


def read(lines_of_log: Iterable[bytes]) -> Reading:
    """What the lines say. Lines of no known signature cost a look-up."""
    reader, known = _Reader(), {}
    number = 0
    templates = shapes.templates()
    for number, line in enumerate(lines_of_log, 1):
        key = signature(line)
        candidates = known.get(key)
        if candidates is None:
            candidates = tuple(template for template in templates if template.needle in key)
            if len(known) < _MOST_SIGNATURES:
                known[key] = candidates
        if candidates:
            reader.read(number, lines.plain(line), candidates)
    return Reading(_engine(reader), tuple(reader.starts), number, reader.pids)


def _engine(reader: _Reader) -> str | None:
    """Whose log it is: of the engines whose lines are in it, the one that runs on the others."""
    printed = [name for name in shapes.PRECEDENCE if reader.engines.get(name)]
    framed = [name for name in shapes.PRECEDENCE if name in reader.engines]
    return next(iter((*printed, *framed)), None)
