"""Charts with two axes: memory over the context, and speed over the sequences at once."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvplan.core.units import GIB, format_count
from kvplan.render.html.figures import Figure, Span, count, percent, rate_span, size, size_span
from kvplan.render.html.ledger import Mark
from kvplan.render.html.part import Part
from kvplan.render.html.scale import Linear, Log, path, thinned, ticks

_MOST_OF_CAPACITY = 2.0
"""How far beyond the card the memory chart goes; lines leave it there."""


class Dot(NamedTuple):
    """A point of a series, with the bounds of its interval."""

    x: str
    y: str
    low: str
    high: str
    tip: str
    hollow: bool


class Series(NamedTuple):
    """A line; ``band`` is the area of its interval. Paths are in hundredths."""

    label: str
    number: int
    path: str
    band: str
    dots: tuple[Dot, ...]


class Plot(NamedTuple):
    """The axes and what is drawn on them."""

    columns: tuple[Mark, ...]
    rows: tuple[Mark, ...]
    series: tuple[Series, ...]
    limit: Mark | None
    hollow: bool


class MemoryRow(NamedTuple):
    """A line of the table under the chart of memory."""

    label: str
    cells: tuple[Figure | None, ...]


class Memory(NamedTuple):
    """Memory over the context."""

    plot: Plot
    heads: tuple[str, ...]
    rows: tuple[MemoryRow, ...]
    batch: str


class SpeedRow(NamedTuple):
    """One rung of the ladder."""

    concurrency: Figure
    needed: Span
    tokens: Span | None
    first: Span | None
    each: Span | None


class Speed(NamedTuple):
    """Throughput over sequences at once; no plot of one rung."""

    plot: Plot | None
    rows: tuple[SpeedRow, ...]


def memory(lines: Iterable[Part], capacity: Part) -> Memory | None:
    """A series for each engine and type of cache; None where there is none."""
    known = [(line, [point for point in line["points"] if point["needed_bytes"].given]) for line in lines]
    known = [(line, points) for line, points in known if points]
    if not known:
        return None
    contexts = sorted({point["ctx_tokens"].counted for _, points in known for point in points})
    most = max(point["needed_bytes"].whole for _, points in known for point in points)
    if capacity.given:
        most = min(most, int(_MOST_OF_CAPACITY * capacity.whole))
    marks = ticks(most / GIB)
    x, y = Log(contexts[0], contexts[-1]), Linear(marks[-1] * GIB, 0)
    series = tuple(_memory_series(line["label"].text, i, points, (x, y)) for i, (line, points) in enumerate(known))
    limit = Mark(percent(y.at(capacity.whole)), f"{size(capacity).text} on the card") if capacity.given else None
    plot = Plot(
        tuple(Mark(percent(x.at(contexts[i])), format_count(contexts[i])) for i in thinned(len(contexts), n_most=9)),
        tuple(Mark(percent(y.at(mark * GIB)), f"{mark:g}") for mark in marks),
        series,
        limit,
        any(dot.hollow for one in series for dot in one.dots),
    )
    return Memory(plot, tuple(f"{ctx:,}" for ctx in contexts), tuple(_rows(known, contexts)), f"{known[0][1][0]['batch'].whole:,}")


def _rows(known: Sequence[tuple[Part, list[Part]]], contexts: list[int]) -> Iterable[MemoryRow]:
    for line, points in known:
        at = {point["ctx_tokens"].counted: size(point["needed_bytes"]) for point in points}
        yield MemoryRow(line["label"].text, tuple(at.get(ctx) for ctx in contexts))


def _memory_series(label: str, number: int, points: list[Part], scales: tuple[Log, Linear]) -> Series:
    x, y = scales
    keys = ("needed_low_bytes", "needed_bytes", "needed_high_bytes")
    at = [(x.at(point["ctx_tokens"].counted), *(y.at(point[key].whole) for key in keys)) for point in points]
    dots = []
    for point, (left, low, best, high) in zip(points, at, strict=True):
        tip = f"{label}, {point['ctx_tokens'].whole:,} tokens: {size(point['needed_bytes']).text}"
        if best >= 0:
            dots.append(Dot(percent(left), percent(best), percent(low), percent(high), tip, bool(list(point["warnings"]))))
    band = [(left, low) for left, low, _, _ in at] + [(left, high) for left, _, _, high in reversed(at)]
    return Series(label, number, path([(left, best) for left, _, best, _ in at]), path(band) + "Z" if not number else "", tuple(dots))


def speed(ladder: Iterable[Part]) -> Speed | None:
    """The ladder; None where no rung's speed is known."""
    rungs = [rung for rung in ladder if rung["performance"].given]
    if not rungs:
        return None
    return Speed(_speed_plot(rungs) if len(rungs) > 1 else None, tuple(_speed_row(rung) for rung in rungs))


def _speed_row(rung: Part) -> SpeedRow:
    found = rung["performance"]
    return SpeedRow(
        count(rung["concurrency"]),
        size_span(rung, "needed_"),
        rate_span(found["decode_tokens_per_s"]),
        rate_span(found["ttft_s"]),
        rate_span(found["tpot_s"], scale=1000),
    )


def _speed_plot(rungs: list[Part]) -> Plot:
    rates = [rung["performance.decode_tokens_per_s"] for rung in rungs]
    marks = ticks(max(one["high"].number for one in rates))
    x, y = Log(rungs[0]["concurrency"].counted, rungs[-1]["concurrency"].counted), Linear(marks[-1], 0)
    dots, points = [], []
    for rung, found in zip(rungs, rates, strict=True):
        left = _MARGIN + (100 - 2 * _MARGIN) * x.at(rung["concurrency"].counted) / 100
        low, best, high = (y.at(found[bound].number) for bound in ("low", "best", "high"))
        tip = f"{rung['concurrency'].whole:,} at once: {found['low'].number:,.0f} – {found['high'].number:,.0f} tokens/s"
        dots.append(Dot(percent(left), percent(best), percent(low), percent(high), tip, hollow=False))
        points.append((left, best))
    return Plot(
        tuple(Mark(dots[i].x, f"{rungs[i]['concurrency'].whole:,}") for i in thinned(len(rungs), n_most=9)),
        tuple(Mark(percent(y.at(mark)), f"{mark:,g}") for mark in marks),
        (Series("tokens/s in all", 0, path(points), "", tuple(dots)),),
        None,
        hollow=False,
    )


_MARGIN = 4  # hundredths left and right of the first and the last rung
