"""The figures of one start, by their labels: as numbers, and in words."""

import re
from functools import cached_property

from kvplan.core.units import format_size
from kvplan.explainer.outcome import Ending
from kvplan.explainer.record import Figure, Start

_MOST_CHARS = 200
_HEAD = re.compile(r"^.*?(?:ERROR|CRITICAL|\bE) (?:[\d: -]*\[[^\]]*\])?\s*|^\([^)]*\)\s*")


def _in_words(figure: Figure) -> str:
    if figure.unit == "bytes":
        return format_size(int(figure.value))
    number = f"{figure.value:,.2f}".rstrip("0").rstrip(".") if figure.value % 1 else f"{int(figure.value):,}"
    return f"{number} {figure.unit}" if figure.unit else number


class Told:
    """What the log says of one start."""

    def __init__(self, start: Start, end: Ending) -> None:
        """``end`` is how it ended."""
        self.start, self.ending = start, end

    @cached_property
    def settings(self) -> dict[str, str]:
        """What the log shows of the settings."""
        return dict(self.start.settings)

    def value(self, label: str) -> float | None:
        """The last figure of that label."""
        found = self.start.last.get(label)
        return None if found is None else found.value

    def size(self, *labels: str) -> int | None:
        """The bytes of the last figure of the first of ``labels`` that is there."""
        return next((size for label in labels if label in self.start.last and (size := self.start.last[label].bytes) is not None), None)

    def count(self, name: str) -> int | None:
        """A setting that is a whole number."""
        value = self.settings.get(name, "").replace(",", "")
        return int(value) if value.isdigit() else None

    def shown(self, *names: str) -> str:
        """A figure with its unit, or a setting, in words; what is not printed is ``?``."""
        for name in names:
            if name in self.start.last:
                return _in_words(self.start.last[name])
            if name in self.settings:
                return self.settings[name]
        return "?"

    def number(self, label: str) -> str:
        """A figure without its unit."""
        found = self.value(label)
        return "?" if found is None else f"{int(found):,}"

    def sized(self, needed: str, available: str) -> str:
        """What is needed and what there is, as far as it is printed."""
        pool = self.value("tokens that the pool holds")
        if pool is not None:
            return f"it holds {int(pool):,}"
        return f"it needs {self.shown(needed)}, and {self.shown(available)} is left"

    def suffix(self, label: str, template: str) -> str:
        """``template`` with that figure in it, nothing where it is not printed."""
        return template.format(self.shown(label)) if label in self.start.last else ""

    def shortly(self) -> str:
        """How much was asked for and how much was free, as far as it is printed."""
        tried, free = self.suffix("tried to allocate", ": {} were asked for"), self.suffix("free memory", ", {} were free")
        return f"{tried}{free}" if tried else self.suffix("failed allocation", ": {} were asked for")

    def held(self) -> str:
        """What others hold of the card."""
        free, total = self.size("free at start"), self.size("total memory")
        return "it" if free is None or total is None else format_size(total - free)

    def last_words(self) -> str:
        """The line that says that it failed, cut to what can be borne."""
        error = self.start.settings.get("error")
        if self.ending.sign == "traceback" and error:
            return f"{self.start.settings['error_class']}Error: {error}"[:_MOST_CHARS]
        text = self.ending.event.text if self.ending.event else "?"
        return _HEAD.sub("", text)[:_MOST_CHARS]

    @property
    def shortage(self) -> int | None:
        """Bytes that the allocation which failed was short of, where the log prints both."""
        tried, free = self.size("tried to allocate"), self.size("free memory")
        return None if tried is None or free is None else max(0, tried - free)
