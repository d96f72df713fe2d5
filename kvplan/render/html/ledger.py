"""The ledger of a place as a stacked bar against its capacity, and as a table with the interval of each line."""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.core.units import GIB
from kvplan.render.html.figures import Figure, Span, percent, size, size_span
from kvplan.render.html.part import Part
from kvplan.render.html.scale import Linear, ticks
from kvplan.render.html.sources import link

_COLORS = {"weights": 1, "kv_cache": 2, "recurrent_state": 2, "activations": 3, "compute_buffer": 3, "logits": 3, "graphs": 4}
_OVERHEAD, _DRAFT = 5, 6
_WIDTH_OF_A_LETTER = 2.1  # hundredths of a bar on a phone


class Segment(NamedTuple):
    """One line of the ledger in the bar."""

    x: str
    width: str
    middle: str
    color: int
    label: str
    tip: str


class Mark(NamedTuple):
    """Something at one x: a tick, a limit."""

    x: str
    text: str
    anchor: str = "middle"


class Range(NamedTuple):
    """An interval on the scale of the bar."""

    low: str
    width: str
    best: str
    high: str


class Row(NamedTuple):
    """One line of the table, with its formula."""

    name: Part
    color: int
    size: Span
    basis: str
    bar: Range
    formula: Part
    source: Part
    link: str | None


class Ledger(NamedTuple):
    """A place: its bar, its limits, its lines and their sum. ``whole`` is what its capacity is of,
    ``alike`` the places that hold the same and have no lines of their own."""

    place: str
    alike: str
    whole: str
    segments: tuple[Segment, ...]
    ticks: tuple[Mark, ...]
    capacity: Mark | None
    usable: Mark | None
    need: Range
    needed: Span
    total: Figure
    capacity_size: Figure | None
    usable_size: Figure | None
    rows: tuple[Row, ...]
    verdict: str


def ledgers(estimate: Part) -> tuple[Ledger, ...]:
    """Every place that holds anything."""
    entries = list(estimate["entries"])
    places = list(estimate["places"])
    lines = {place["id"].text: [one for one in entries if one["place"].text == place["id"].text] for place in places}
    return tuple(_ledger(place, lines[place["id"].text], _alike(place, places, lines)) for place in places)


def _alike(place: Part, places: list[Part], lines: Mapping[str, list[Part]]) -> str:
    """Other places for which this one's lines stand."""
    bare = [one for one in places if not lines[one["id"].text]]
    same = [one["id"].text for one in bare if all(one[key].value == place[key].value for key in ("total_bytes", "needed_bytes"))]
    return ", ".join(same)


def _ledger(place: Part, entries: list[Part], alike: str) -> Ledger:
    shown = [one for one in entries if one["high_bytes"].whole > 0]
    limits = [place[key].whole for key in ("capacity_bytes", "usable_bytes", "needed_high_bytes", "total_bytes") if place[key].given]
    marks = ticks(max(limits) / GIB)
    scale, rows = Linear(0, marks[-1] * GIB), Linear(0, max((one["high_bytes"].whole for one in shown), default=1))
    return Ledger(
        place["id"].text,
        alike,
        "in the host" if place["id"].text == "host" else "on the card",
        tuple(_segments(shown, scale)),
        tuple(Mark(percent(scale.at(mark * GIB)), f"{mark:g}") for mark in marks),
        _mark(place["capacity_bytes"], scale),
        _mark(place["usable_bytes"], scale) if place["usable_bytes"].value != place["capacity_bytes"].value else None,
        _range(place, "needed_", scale),
        size_span(place, "needed_"),
        size(place["total_bytes"]),
        size(place["capacity_bytes"]) if place["capacity_bytes"].given else None,
        size(place["usable_bytes"]) if place["usable_bytes"].given else None,
        tuple(_row(one, rows) for one in shown),
        place["verdict"].text,
    )


def _segments(entries: list[Part], scale: Linear) -> list[Segment]:
    found, begin = [], 0
    for one in entries:
        end = begin + one["bytes"].whole
        width = scale.at(end) - scale.at(begin)
        name = one["name"].text
        label = name if width >= len(name) * _WIDTH_OF_A_LETTER else ""
        tip = f"{name}: {size(one['bytes']).text}, {one['basis'].text}"
        found.append(
            Segment(percent(scale.at(begin)), percent(width), percent(scale.at(begin) + width / 2), _color(one["term"].text), label, tip)
        )
        begin = end
    return found


def _color(term: str) -> int:
    return _COLORS.get(term, _DRAFT if term in ("draft_model", "lora", "projector") else _OVERHEAD)


def _mark(part: Part, scale: Linear) -> Mark | None:
    if not part.given:
        return None
    x = scale.at(part.whole)
    return Mark(percent(x), size(part).text, "end" if x > _RIGHT else "middle")


_RIGHT = 80


def _range(parent: Part, prefix: str, scale: Linear) -> Range:
    low, best, high = (scale.at(parent[f"{prefix}{bound}bytes"].whole) for bound in ("low_", "", "high_"))
    return Range(percent(low), percent(high - low), percent(best), percent(high))


def _row(one: Part, scale: Linear) -> Row:
    source = one["source"]
    return Row(
        one["name"],
        _color(one["term"].text),
        size_span(one),
        one["basis"].text,
        _range(one, "", scale),
        one["formula"],
        source,
        link(source.text),
    )
