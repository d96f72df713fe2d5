"""A sweep as text, line by line while it is made, as JSON and as CSV."""

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import chain
from textwrap import wrap

from kvplan.core.units import GIB
from kvplan.estimator.sweep import Axis, Point, Reach, frontier
from kvplan.render import points
from kvplan.render.envelope import enveloped
from kvplan.render.table import aligned, middled

_VERDICTS = {"fits": "fits", "tight": "tight", "does_not_fit": "does not fit", "unknown": "unknown"}
_WORDS, _LEAST, _MOST_REACHES = 24, 40, 12
_SIZE = len("headroom GiB")


def text(axes: tuple[Axis, ...], found: Iterable[Point], *, columns: int) -> Iterator[str]:
    """The lines: what is the same in all points, a table, its words for what is wrong explained, the longest contexts that fit."""
    rest = iter(found)
    first = next(rest)
    table = _Table(axes)
    heading = table.heading(first)
    yield from (heading, "") if heading else ()
    yield table.head
    seen: list[Point] = []
    reasons: dict[str, str] = {}
    for point in chain((first,), rest):
        seen.append(point)
        yield table.line(point)
        reasons.update((why,) if (why := points.reason(point)) and why[0] not in reasons else ())
    yield from _explained(reasons, columns)
    yield from _reaches(axes, frontier(axes, seen))


def _explained(reasons: dict[str, str], columns: int) -> Iterator[str]:
    """Each word for what is wrong, with the text of the first point that it is said of."""
    yield from ("",) if reasons else ()
    for word, why in reasons.items():
        yield from wrap(f"{word}: {why}", max(_LEAST, columns), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


class _Table:
    """The varied axes, what is needed and left in GiB, the verdict, and why not."""

    def __init__(self, axes: tuple[Axis, ...]) -> None:
        self._axes = axes
        self._varied = [i for i, axis in enumerate(axes) if len(axis.values) > 1]
        self._widths = {
            i: min(_WORDS, max(len(_shown(axes[i].option, said)) for said in (axes[i].option, *axes[i].values))) for i in self._varied
        }
        heads = (self._cell(i, axes[i].option.replace("_", "-")) for i in self._varied)
        self.head = "  ".join((*heads, "needed GiB".rjust(_SIZE), "headroom GiB".rjust(_SIZE), "verdict"))

    def heading(self, first: Point) -> str:
        """What is not varied."""
        fixed = {axis.option: axis.values[0] for axis in self._axes if len(axis.values) == 1}
        about = first.about
        named = {
            "model": about.model.id if about else fixed.get("model"),
            "engine": f"{about.engine.name} {about.version}" if about else fixed.get("engine"),
            "gpu": (f"{len(about.node.gpus)} × " if len(about.node.gpus) > 1 else "") + (about.node.id or "") if about else None,
        }
        varied = {self._axes[i].option for i in self._varied}
        hardware = {"gpu", "gpus", "budget"} & varied
        parts = [words for name, words in named.items() if words and name not in varied and not (name == "gpu" and hardware)]
        parts += [f"{name.replace('_', '-')} {_shown(name, said)}" for name, said in fixed.items() if said and name not in (*named, "gpus")]
        return " · ".join(parts)

    def line(self, point: Point) -> str:
        """One point."""
        cells = [self._cell(i, _shown(self._axes[i].option, point.at[i])) for i in self._varied]
        cells.append(("" if point.needed is None else f"{point.needed.best / GIB:,.2f}").rjust(_SIZE))
        cells.append(("" if point.headroom_bytes is None else f"{point.headroom_bytes / GIB:,.2f}").rjust(_SIZE))
        verdict, why = "refused" if point.refusals else "no answer" if point.error else _VERDICTS[point.verdict], points.reason(point)
        return "  ".join((*cells, f"{verdict}, {why[0]}" if why else verdict))

    def _cell(self, i: int, words: str) -> str:
        width = self._widths[i]
        return middled(words, width).rjust(width) if self._axes[i].option in points.COUNTED else middled(words, width).ljust(width)


def _shown(option: str, said: str | None) -> str:
    found = points.value(option, said)
    return f"{found:,}" if isinstance(found, int) else found or "default"


def _reaches(axes: tuple[Axis, ...], found: tuple[Reach, ...]) -> Iterator[str]:
    """The longest context that fits, by what else is varied."""
    if not found or all(reach.ctx_tokens is None for reach in found):
        return
    others = [axis for axis in axes if axis.option != "ctx"]
    varied = [i for i, axis in enumerate(others) if len(axis.values) > 1]
    yield ""
    rows = [(*(others[i].option.replace("_", "-") for i in varied), "longest ctx that fits")]
    for reach in found[:_MOST_REACHES]:
        rows.append((*(_shown(others[i].option, reach.at[i]) for i in varied), f"{reach.ctx_tokens:,}" if reach.ctx_tokens else "none"))
    left = frozenset(column for column, i in enumerate(varied) if others[i].option not in points.COUNTED)
    yield from aligned(rows, left=left)
    if len(found) > _MOST_REACHES:
        yield f"{len(found) - _MOST_REACHES:,} more are in --json"


def as_json(axes: tuple[Axis, ...], found: Iterable[Point]) -> dict[str, object]:
    """The JSON object of ``kvplan sweep``."""
    seen = list(found)
    others = [axis.option for axis in axes if axis.option != "ctx"]
    return enveloped(
        {
            "axes": [{"option": axis.option, "values": [points.value(axis.option, said) for said in axis.values]} for axis in axes],
            "points": [_point(axes, point) for point in seen],
            "frontier": [
                {
                    "at": {name: points.value(name, said) for name, said in zip(others, reach.at, strict=True)},
                    "ctx_tokens": reach.ctx_tokens,
                }
                for reach in frontier(axes, seen)
            ],
        }
    )


def _point(axes: tuple[Axis, ...], point: Point) -> dict[str, object]:
    error = point.error
    return {
        **points.who(axes, point),
        **points.what(point),
        "refusals": [refusal._asdict() for refusal in point.refusals],
        "error": error and {"kind": error.kind, "message": error.message, "hint": error.hint},
        "performance": None,
    }


def as_csv(axes: tuple[Axis, ...], found: Iterable[Point]) -> Iterator[str]:
    """A line for the names of the columns, and one for each point; rules of refusals are parted by spaces."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    for number, point in enumerate(found):
        row = {
            **points.who(axes, point),
            **points.what(point),
            "refusals": " ".join(refusal.rule for refusal in point.refusals),
            "error": point.error and point.error.message,
        }
        if not number:
            rows.writerow(row)
        rows.writerow(row.values())
        yield written.getvalue()
        written.seek(0)
        written.truncate()
