"""Contexts by batches: which fit, with the longest context of each batch."""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.core.units import GIB, format_count
from kvplan.render.html.figures import Figure, percent, size
from kvplan.render.html.ledger import Mark
from kvplan.render.html.part import Part
from kvplan.render.html.scale import path, thinned

_ROW_PX, _LEAST_PX, _MOST_PX = 34, 5, 420
_MOST_COLUMNS_WITH_NUMBERS = 12
MOST_CELLS = 20_000
_SIGNS = {"fits": "✓", "tight": "≈", "does_not_fit": "✕", "refused": "⊘", "beyond": "!", "unknown": "?"}
VERDICTS = {
    "fits": "fits",
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


def _map(title: str, points: list[Part], asked: tuple[int, int] | None) -> Map:
    contexts = sorted({point["ctx_tokens"].counted for point in points})
    batches = sorted({point["batch"].counted for point in points}, reverse=True)
    if len(contexts) * len(batches) > MOST_CELLS:
        raise RequestError(
            "too_large", f"{len(contexts):,} contexts by {len(batches):,} batches are no map that anybody reads", hint="fewer of them"
        )
    width, height = 100 / len(contexts), 100 / len(batches)
    at = {(point["ctx_tokens"].whole, point["batch"].whole): point for point in points}
    lines = tuple(
        Line(
            f"{batch:,}",
            tuple(
                _cell(at[ctx, batch], (i * width, j * height), (width, height), asked) if (ctx, batch) in at else None
                for i, ctx in enumerate(contexts)
            ),
        )
        for j, batch in enumerate(batches)
    )
    seen = {cell.verdict for line in lines for cell in line.cells if cell}
    return Map(
        title,
        min(_MOST_PX, max(_LEAST_PX, _ROW_PX) * len(batches)),
        percent(width),
        percent(height),
        tuple(Mark(percent((i + 0.5) * width), format_count(contexts[i])) for i in thinned(len(contexts), n_most=10)),
        tuple(Mark(percent((j + 0.5) * height), f"{batches[j]:,}") for j in thinned(len(batches), n_most=12)),
        tuple(f"{ctx:,}" for ctx in contexts),
        lines,
        _frontier(lines, width, height),
        len(contexts) <= _MOST_COLUMNS_WITH_NUMBERS and len(batches) * _ROW_PX <= _MOST_PX,
        any(cell.asked for line in lines for cell in line.cells if cell),
        tuple((key, _SIGNS[key], words) for key, words in VERDICTS.items() if key in seen),
    )


def _cell(point: Part, at: tuple[float, float], sides: tuple[float, float], asked: tuple[int, int] | None) -> Cell:
    verdict = _verdict(point)
    needed = size(point["needed_bytes"]) if point["needed_bytes"].given else None
    ctx, batch = point["ctx_tokens"].whole, point["batch"].whole
    return Cell(
        percent(at[0]),
        percent(at[1]),
        percent(at[0] + sides[0] / 2),
        percent(at[1] + sides[1] / 2),
        verdict,
        _SIGNS[verdict],
        VERDICTS[verdict],
        f"{point['needed_bytes'].whole / GIB:.1f}" if needed else "",
        needed,
        f"{ctx:,} tokens × {batch:,}: {VERDICTS[verdict]}{f', {needed.text} needed' if needed else ''}",
        asked == (ctx, batch),
    )


def _verdict(point: Part) -> str:
    if point["error"].given:
        return "unknown"
    if list(point["refusals"]):
        return "refused"
    found = point["verdict"].text
    if point["beyond_limit"].on and found == "fits":
        return "beyond"
    return found if found in VERDICTS else "unknown"


def _frontier(lines: Sequence[Line], width: float, height: float) -> str:
    """The edge of what fits for certain, from the largest batch of which something does."""
    reaches = [sum(1 for cell in line.cells if cell and cell.verdict == "fits") for line in lines]
    first = next((j for j, reach in enumerate(reaches) if reach), None)
    if first is None:
        return ""
    points: list[tuple[float, float]] = [(0, first * height)]
    for j, reach in enumerate(reaches[first:], first):
        points += [(reach * width, j * height), (reach * width, (j + 1) * height)]
    return path(points)
