"""A sweep as text, line by line while it is made, as JSON and as CSV."""

from collections.abc import Iterable, Iterator
from itertools import chain
from textwrap import wrap

from kvplan.core.units import GIB
from kvplan.estimator import knee
from kvplan.estimator.sweep import Axis, Reach, frontier
from kvplan.estimator.swept import Point
from kvplan.render import json_, knees, points
from kvplan.render.columns import Columns, choices
from kvplan.render.envelope import enveloped
from kvplan.render.table import csv_line

_VERDICTS = {"fits": "fits", "tight": "tight", "does_not_fit": "does not fit", "unknown": "unknown"}
_LEAST = 40
_SIZE, _RATE = len("headroom GiB"), 9


def text(axes: tuple[Axis, ...], found: Iterable[Point], *, columns: int) -> Iterator[str]:
    """The lines: what is the same in all points, a table, its words for what is wrong explained, the longest contexts that fit,
    the batches from which on the rate stops rising."""
    rest = iter(found)
    first = next(rest)
    table = _Table(axes, timed=first.performance is not None)
    heading = table.heading(first)
    yield from (heading, "") if heading else ()
    yield table.head
    seen: list[Point] = []
    reasons: dict[str, str] = {}
    curves = knee.Curves()
    for point in chain((first,), rest):
        seen.append(point._replace(deployed=None))  # which holds what nobody asks for any more
        rate = table.rate(point)
        curves.add_point(point, rate)
        yield table.line(point, rate)
        reasons.update((why,) if (why := points.reason(point)) and why[0] not in reasons else ())
    yield from _explained(reasons, columns)
    yield from _reaches(axes, frontier(axes, seen))
    yield from knees.lines(axes, curves.knees)


def _explained(reasons: dict[str, str], columns: int) -> Iterator[str]:
    """Each word for what is wrong, with the text of the first point that it is said of."""
    yield from ("",) if reasons else ()
    for word, why in reasons.items():
        yield from wrap(f"{word}: {why}", max(_LEAST, columns), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


class _Table:
    """The varied axes, what is needed and left in GiB, the rate where it is known, the verdict, and a word for what is wrong."""

    def __init__(self, axes: tuple[Axis, ...], *, timed: bool) -> None:
        self._axes, self._columns, self._timed = axes, Columns(axes), timed
        numbers = ("needed GiB".rjust(_SIZE), "headroom GiB".rjust(_SIZE), *(("tokens/s".rjust(_RATE),) if timed else ()))
        self.head = "  ".join((*self._columns.heads, *numbers, "verdict"))

    def heading(self, first: Point) -> str:
        """What is not varied."""
        varied = {self._axes[i].option for i in self._columns.varied}
        parts = []
        if first.about is not None:
            engine, node = first.about.engine, first.about.node
            cards = (f"{len(node.gpus)} × " if len(node.gpus) > 1 else "") + (node.id or "")
            parts += [] if "model" in varied else [first.about.model.id]
            parts += [] if "engine" in varied else [f"{engine.name} {first.about.version}"]
            parts += [] if {"gpu", "gpus", "budget"} & varied or not cards else [cards]
        return " · ".join((*parts, *self._columns.fixed("model", "engine", "gpu", "gpus")))

    def rate(self, point: Point) -> float | None:
        """Tokens per second over all sequences, by the best guess; None where the table does not show it."""
        found = point.tokens_per_s if self._timed else None
        return found and found.best

    def line(self, point: Point, rate: float | None) -> str:
        """One point."""
        needed, left = point.needed, point.headroom_bytes
        sizes = "" if needed is None else f"{needed.best / GIB:,.2f}", "" if left is None else f"{left / GIB:,.2f}"
        verdict, why = "refused" if point.refusals else "no answer" if point.error else _VERDICTS[point.verdict], points.reason(point)
        cells = (*self._columns.cells(point.at), *(size.rjust(_SIZE) for size in sizes), *((_rate(rate),) if self._timed else ()))
        return "  ".join((*cells, f"{verdict}, {why[0]}" if why else verdict))


def _rate(found: float | None) -> str:
    return ("" if found is None else f"{found:,.0f}").rjust(_RATE)


def _reaches(axes: tuple[Axis, ...], found: tuple[Reach, ...]) -> Iterator[str]:
    """The longest context that fits, by what else is varied."""
    if not found or all(reach.ctx_tokens is None for reach in found):
        return
    others = [axis for axis in axes if axis.option != "ctx"]
    rows = [(reach.at, (f"{reach.ctx_tokens:,}" if reach.ctx_tokens else "none",)) for reach in found]
    yield from choices(others, ("longest ctx that fits",), rows)


def as_json(axes: tuple[Axis, ...], found: Iterable[Point]) -> dict[str, object]:
    """The JSON object of ``kvplan sweep``."""
    seen = list(found)
    others = [axis for axis in axes if axis.option != "ctx"]
    return enveloped(
        {
            "axes": points.of_axes(axes),
            "points": [_point(axes, point) for point in seen],
            "frontier": [{"at": points.at(others, reach.at), "ctx_tokens": reach.ctx_tokens} for reach in frontier(axes, seen)],
            "knees": knees.as_json(axes, knee.knees(seen)),
        }
    )


def _point(axes: tuple[Axis, ...], point: Point) -> dict[str, object]:
    error = point.error
    return {
        **points.who(axes, point),
        **points.what(point),
        "warnings": [finding.rule for finding in point.warnings],
        "refusals": [refusal._asdict() for refusal in point.refusals],
        "error": error and {"kind": error.kind, "message": error.message, "hint": error.hint},
        "performance": json_.performance(point.performance),
        "measured": None,
    }


def _rates(point: Point) -> dict[str, float | None]:
    """The best guesses of a point's speed."""
    found = point.performance
    return {name: found and getattr(found, name).best for name in ("ttft_s", "tpot_s", "decode_tokens_per_s")}


def as_csv(axes: tuple[Axis, ...], found: Iterable[Point]) -> Iterator[str]:
    """A line for the names of the columns, and one for each point; rules of refusals are parted by spaces."""
    for number, point in enumerate(found):
        row = {
            **points.who(axes, point),
            **points.what(point),
            **_rates(point),
            "warnings": " ".join(finding.rule for finding in point.warnings),
            "refusals": " ".join(refusal.rule for refusal in point.refusals),
            "error": point.error and point.error.message,
        }
        yield (csv_line(row) if not number else "") + csv_line(row.values())
