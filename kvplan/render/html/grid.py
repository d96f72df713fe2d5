"""Contexts by batches: which fit, with the longest context of each batch."""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.core.units import GIB, format_count
from kvplan.render.html.figures import Figure, percent, size
from kvplan.render.html.ledger import Mark
from kvplan.render.html.part import Part
from kvplan.render.html.scale import path, thinned

_ROW_PX, _MOST_PX = 34, 420
_MOST_COLUMNS_WITH_NUMBERS = 12
MOST_CELLS = 20_000
_SIGNS = {"fits": "✓", "warned": "!", "tight": "≈", "does_not_fit": "✕", "refused": "⊘", "beyond": "…", "unknown": "?"}
VERDICTS = {
    "fits": "fits",
    "warned": "fits, with a warning",
    "tight": "probably fits",
    "does_not_fit": "does not fit",
    "refused": "refused by the engine",
    "beyond": "fits beyond the model's limit",
    "unknown": "no answer",
}
_AT = ("ctx", "batch")


class Cell(NamedTuple):
    """One choice: where it is drawn, and what it needs (None where there is no answer)."""

    x: str
    y: str
    middle_x: str
    middle_y: str
    verdict: str
    sign: str
    words: str
    number: str
    needed: Figure | None
    tip: str
    asked: bool


class Line(NamedTuple):
    """A row of the table: a batch, and its cells from the shortest context to the longest."""

    batch: str
    cells: tuple[Cell | None, ...]


class Map(NamedTuple):
    """The map with its labels; ``frontier`` is drawn in hundredths."""

    title: str
    height_px: int
    cell_width: str
    cell_height: str
    columns: tuple[Mark, ...]
    rows: tuple[Mark, ...]
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    frontier: str
    numbers: bool
    asked: bool
    verdicts: tuple[tuple[str, str, str], ...]


def grids(sweep: Part, asked: tuple[int, int] | None) -> tuple[Map, ...]:
    """A map for each choice of all but context and batch."""
    others = [axis["option"].text for axis in sweep["axes"] if axis["option"].text not in _AT and len(list(axis["values"])) > 1]
    found: dict[tuple[str, ...], list[Part]] = {}
    for point in sweep["points"]:
        if isinstance(point["ctx_tokens"].value, int) and isinstance(point["batch"].value, int):
            found.setdefault(tuple(_said(point, other) for other in others), []).append(point)
    return tuple(_map(" · ".join(key), points, asked) for key, points in found.items())


def _said(point: Part, option: str) -> str:
    value = point[option].value
    version = point["version"].text if option == "engine" else ""
    return f"{'usual' if value is None else value} {version if version not in str(value) else ''}".strip()


class _Frame(NamedTuple):
    """The sides of a map, and what is not said of a cell: ``usual`` are the warnings that all of them have."""

    contexts: tuple[int, ...]
    batches: tuple[int, ...]
    usual: frozenset[str]
    asked: tuple[int, int] | None

    @property
    def width(self) -> float:
        return 100 / len(self.contexts)

    @property
    def height(self) -> float:
        return 100 / len(self.batches)


def _frame(points: list[Part], asked: tuple[int, int] | None) -> _Frame:
    contexts, batches = {point["ctx_tokens"].counted for point in points}, {point["batch"].counted for point in points}
    if len(contexts) * len(batches) > MOST_CELLS:
        what = f"{len(contexts):,} contexts by {len(batches):,} batches"
        raise RequestError("too_large", f"{what} are no map that anybody reads", hint="fewer of them")
    usual = frozenset.intersection(*map(_warnings, points))
    return _Frame(tuple(sorted(contexts)), tuple(sorted(batches, reverse=True)), usual, asked)


def _map(title: str, points: list[Part], asked: tuple[int, int] | None) -> Map:
    frame = _frame(points, asked)
    contexts, batches = frame.contexts, frame.batches
    at = {(point["ctx_tokens"].whole, point["batch"].whole): point for point in points}
    lines = tuple(
        Line(f"{batch:,}", tuple(_cell(at.get((ctx, batch)), i, j, frame) for i, ctx in enumerate(contexts)))
        for j, batch in enumerate(batches)
    )
    cells = [cell for line in lines for cell in line.cells if cell]
    seen = {cell.verdict for cell in cells}
    return Map(
        title,
        min(_MOST_PX, _ROW_PX * len(batches)),
        percent(frame.width),
        percent(frame.height),
        tuple(Mark(percent((i + 0.5) * frame.width), format_count(contexts[i])) for i in thinned(len(contexts), n_most=10)),
        tuple(Mark(percent((j + 0.5) * frame.height), f"{batches[j]:,}") for j in thinned(len(batches), n_most=12)),
        tuple(f"{ctx:,}" for ctx in contexts),
        lines,
        _frontier(lines, frame),
        len(contexts) <= _MOST_COLUMNS_WITH_NUMBERS and len(batches) * _ROW_PX <= _MOST_PX,
        any(cell.asked for cell in cells),
        tuple((key, _SIGNS[key], words) for key, words in VERDICTS.items() if key in seen),
    )


def _cell(point: Part | None, i: int, j: int, frame: _Frame) -> Cell | None:
    if point is None:
        return None
    verdict, warnings = _verdict(point), sorted(_warnings(point) - frame.usual)
    verdict = "warned" if warnings and verdict == "fits" else verdict
    words = " ".join((VERDICTS[verdict], *(warnings if verdict == "warned" else ())))
    needed = size(point["needed_bytes"]) if point["needed_bytes"].given else None
    ctx, batch = point["ctx_tokens"].whole, point["batch"].whole
    return Cell(
        percent(i * frame.width),
        percent(j * frame.height),
        percent((i + 0.5) * frame.width),
        percent((j + 0.5) * frame.height),
        verdict,
        _SIGNS[verdict],
        words,
        f"{point['needed_bytes'].whole / GIB:.1f}" if needed else "",
        needed,
        f"{ctx:,} tokens × {batch:,}: {words}{f', {needed.text} needed' if needed else ''}",
        frame.asked == (ctx, batch),
    )


def _warnings(point: Part) -> frozenset[str]:
    return frozenset(rule.text for rule in point["warnings"])


def _verdict(point: Part) -> str:
    if point["error"].given:
        return "unknown"
    if list(point["refusals"]):
        return "refused"
    found = point["verdict"].text
    if point["beyond_limit"].on and found == "fits":
        return "beyond"
    return found if found in VERDICTS else "unknown"


def _frontier(lines: Sequence[Line], frame: _Frame) -> str:
    """The edge of what fits for certain, from the largest batch of which something does."""
    reaches = [sum(1 for cell in line.cells if cell and cell.verdict in ("fits", "warned")) for line in lines]
    first = next((j for j, reach in enumerate(reaches) if reach), None)
    if first is None:
        return ""
    points: list[tuple[float, float]] = [(0, first * frame.height)]
    for j, reach in enumerate(reaches[first:], first):
        points += [(reach * frame.width, j * frame.height), (reach * frame.width, (j + 1) * frame.height)]
    return path(points)
