"""What was said on a command line, asked for by name: the last word on each flag counts."""

from collections.abc import Iterable

from kvplan.core.engine import Flag


class Told:
    """Flags by name, their values in one spelling."""

    def __init__(self, flags: Iterable[Flag]) -> None:
        """Later flags win."""
        self._by_name = {flag.name: flag.value for flag in flags}

    def __contains__(self, name: str) -> bool:
        """Whether the flag was said."""
        return name in self._by_name

    def word(self, name: str) -> str | None:
        """The value as text, None where nothing was said."""
        return self._by_name.get(name)

    def chosen(self, name: str) -> str | None:
        """The same, None also for ``auto``, which leaves it to the engine."""
        return None if self.word(name) == "auto" else self.word(name)

    def count(self, name: str, default: int | None = None) -> int | None:
        """A whole number, ``default`` where nothing was said."""
        value = self._by_name.get(name)
        return default if value is None else int(value)

    def number(self, name: str, default: int) -> int:
        """A whole number that has a default."""
        value = self._by_name.get(name)
        return default if value is None else int(value)

    def share(self, name: str) -> float | None:
        """A share, None where nothing was said."""
        value = self._by_name.get(name)
        return None if value is None else float(value)

    def on(self, name: str) -> bool:
        """Whether a switch that is off by default was turned on."""
        return self._by_name.get(name) == "true"
