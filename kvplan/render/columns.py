"""The columns of a sweep's tables: a column for each option of which there are several values."""

from collections.abc import Iterator, Sequence

from kvplan.estimator.sweep import Axis
from kvplan.render import points
from kvplan.render.table import aligned, middled

_WORDS = 24
_MOST_CHOICES = 12


class Columns:
    """Names and values of the varied options, each column as wide as its widest value; the middle of long words is left out."""

    def __init__(self, axes: tuple[Axis, ...]) -> None:
        """The widths are known from the beginning, so that lines can be shown one by one."""
        self.varied = [i for i, axis in enumerate(axes) if len(axis.values) > 1]
        self._axes = axes
        self._widths = {
            i: min(_WORDS, max(map(len, (axes[i].option, *(shown(axes[i].option, said) for said in axes[i].values))))) for i in self.varied
        }

    @property
    def heads(self) -> tuple[str, ...]:
        """The options."""
        return tuple(self._cell(i, dashed(self._axes[i].option)) for i in self.varied)

    def cells(self, at: tuple[str | None, ...]) -> tuple[str, ...]:
        """The values of one point."""
        return tuple(self._cell(i, shown(self._axes[i].option, at[i])) for i in self.varied)

    def fixed(self, *but: str) -> list[str]:
        """Options that have one value, and what it is; those of ``but`` left out."""
        once = [axis for i, axis in enumerate(self._axes) if i not in self.varied and axis.values[0] is not None and axis.option not in but]
        return [f"{dashed(axis.option)} {shown(axis.option, axis.values[0])}" for axis in once]

    def _cell(self, i: int, words: str) -> str:
        words, width = middled(words, self._widths[i]), self._widths[i]
        return words.rjust(width) if self._axes[i].option in points.COUNTED else words.ljust(width)


Choice = tuple[tuple[str | None, ...], tuple[str, ...]]
"""The values of some axes, and the cells that stand beside them."""


def choices(axes: Sequence[Axis], head: tuple[str, ...], found: Sequence[Choice], *, words_last: bool = False) -> Iterator[str]:
    """A table below the points': what was found of each choice of ``axes``, of which those that vary are shown; its first lines.

    Cells are numbers, with ``words_last`` but for the last one.
    """
    varied = [i for i, axis in enumerate(axes) if len(axis.values) > 1]
    words = {column for column, i in enumerate(varied) if axes[i].option not in points.COUNTED}
    rows = [(*(dashed(axes[i].option) for i in varied), *head)]
    rows += [(*(shown(axes[i].option, at[i]) for i in varied), *cells) for at, cells in found[:_MOST_CHOICES]]
    last = {len(rows[0]) - 1} if words_last else set()
    yield ""
    yield from (line.rstrip() for line in aligned(rows, left=frozenset(words | last)))
    if len(found) > _MOST_CHOICES:
        yield f"{len(found) - _MOST_CHOICES:,} more are in --json"


def shown(option: str, said: str | None) -> str:
    """A value as tables have it."""
    found = points.value(option, said)
    return f"{found:,}" if isinstance(found, int) else found or "default"


def dashed(option: str) -> str:
    """The option as it is typed."""
    return option.replace("_", "-")
