"""The columns of a sweep's tables: a column for each option of which there are several values."""

from kvplan.estimator.sweep import Axis
from kvplan.render import points
from kvplan.render.table import middled

_WORDS = 24


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


def shown(option: str, said: str | None) -> str:
    """A value as tables have it."""
    found = points.value(option, said)
    return f"{found:,}" if isinstance(found, int) else found or "default"


def dashed(option: str) -> str:
    """The option as it is typed."""
    return option.replace("_", "-")
