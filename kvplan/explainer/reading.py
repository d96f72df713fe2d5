"""A log read once, line by line: figures with their lines, settings, what happened, start by start."""

import re
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from kvplan.explainer import lines, shapes
from kvplan.explainer.record import MOST_ALIKE, Event, Figure, Start
from kvplan.explainer.templates import Template, signature

MOST_STARTS = 100
_MOST_SIGNATURES = 50_000
_MOST_CHARS = 600
_MOST = 2.0**63  # no count and no size of a machine is larger
_RANK = re.compile(r"\((\w+?) (?:rank=\d+ )?(?:pid|ip)=(\d+)|\b((?:DP\d+ )?(?:PP\d+ )?TP\d+)[\]\s]|\[rank(\d+)\]|gpu_id=(\d+)")
_DISTINCT = re.compile(r"APIServer|EngineCore(?:_DP\d+)?|Worker_\w*TP\d+\w*")


class Reading(NamedTuple):
    """What a log says."""

    engine: str | None
    starts: tuple[Start, ...]
    n_lines: int


class _Reader:
    def __init__(self) -> None:
        self.starts: deque[Start] = deque([Start(1, 1)], maxlen=MOST_STARTS)
        self.pids: dict[str, str] = {}
        self.engines: dict[str, int] = {}
        self._counts: dict[Template, int] = {}
        self._late: dict[Template, tuple[int, bytes]] = {}

    def read(self, number: int, line: bytes, templates: tuple[Template, ...]) -> None:
        """One line; what has been there often enough is put off, as its last line is all that matters."""
        counts, fresh = self._counts, []
        for template in templates:
            if counts.get(template, 0) < MOST_ALIKE:
                fresh.append(template)
            else:
                self._late[template] = number, line
        if fresh:
            text = lines.plain(line)
            self._match(number, text, fresh, self._rank(number, text))

    def finish(self) -> None:
        """Read what was put off."""
        late = sorted(self._late.items(), key=lambda item: item[1][0])
        self._late.clear()
        for template, (number, line) in late:
            text = lines.plain(line)
            found = _RANK.search(text)
            self._match(number, text, [template], found and _name(found))

    def _match(self, number: int, text: str, templates: list[Template], rank: str | None) -> None:
        for template in templates:
            found = template.pattern.search(text)
            if found is not None:
                self._counts[template] = self._counts.get(template, 0) + 1
                self._take(template, found, number, rank)

    def _rank(self, number: int, text: str) -> str | None:
        """Who prints; the same process under another id is another start."""
        found = _RANK.search(text)
        if found is None:
            return None
        name, pid = _name(found), found[2]
        if pid and _DISTINCT.fullmatch(name) and self.pids.setdefault(name, pid) != pid:
            self.pids = {name: pid}
            self._begin(number)
        return name

    def _begin(self, number: int) -> None:
        self.finish()
        self._counts.clear()
        now = self.starts[-1]
        if now.figures or now.events:
            self.starts.append(Start(now.number + 1, number))

    def _take(self, template: Template, found: re.Match[str], number: int, rank: str | None) -> None:
        mark, sign = template.shape.mark, template.shape.sign
        if mark == "start" and self.starts[-1].is_under_way:
            self._begin(number)
        if mark in ("refused", "oom") and self._late:
            self.finish()
        start = self.starts[-1]
        if template.engine is not None:
            self.engines[template.engine] = self.engines.get(template.engine, 0) + (mark != "frame")
        if mark == "frame":
            start.frames[sign] = number
        elif mark and (mark != "pool" or not start.events or start.events[-1].mark != "pool"):
            _note(start, Event(mark, sign, number, found.string.strip()[:_MOST_CHARS]))
        _figures(start, template, found, (number, rank))


def _name(found: re.Match[str]) -> str:
    return str(found[1] or found[3] or f"rank {found[4] or found[5]}")


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
        if hole.is_setting and (not hole.is_count or hole.name == "device"):
            continue
        unit = None if hole.is_setting else units[i + 1] if hole.shares_unit else units[i]
        value = float(values[i].replace(",", "") or 0)
        if abs(value) < _MOST:
            start.add(Figure(hole.name, value, unit, where[0], start.number, device, where[1]))


def read(blocks: Iterable[bytes]) -> Reading:
    """What a log says; ``blocks`` hold whole lines. A line of a form that was seen before costs a look-up."""
    reader = _Reader()
    known: dict[bytes, tuple[Template, ...]] = {}
    number = 0
    for block in blocks:
        keys, texts = signature(block).split(b"\n"), block.split(b"\n")
        for at, key in enumerate(keys):
            templates = known.get(key)
            if templates is None:
                if len(known) >= _MOST_SIGNATURES:
                    known.clear()
                templates = known[key] = shapes.candidates(texts[at][: lines.MOST_BYTES])
            if templates:
                reader.read(number + at + 1, texts[at], templates)
        number += len(keys) - block.endswith(b"\n")
    reader.finish()
    return Reading(_engine(reader), tuple(reader.starts), number)


def _engine(reader: _Reader) -> str | None:
    """Whose log it is: of the engines whose lines are in it, the one that runs on the others."""
    printed = [name for name in shapes.PRECEDENCE[:-1] if reader.engines.get(name)]  # PyTorch's messages may be anybody's
    framed = [name for name in shapes.PRECEDENCE if name in reader.engines]
    return next(iter((*printed, *framed)), None)
