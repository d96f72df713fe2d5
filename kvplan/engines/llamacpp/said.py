"""What was said, asked for by name: the last word on each flag counts."""

import re
from collections.abc import Iterable

from kvplan.core.engine import Flag


class Said:
    """Flags by name; their values are canonical already, as ``values.canonical`` writes them."""

    def __init__(self, flags: Iterable[Flag]) -> None:
        """Later flags win, but for those that ``every`` asks for."""
        self._flags = tuple(flags)
        self._by_name = {flag.name: flag.value for flag in self._flags}

    def __contains__(self, name: str) -> bool:
        """Whether the flag was said at all."""
        return name in self._by_name

    def word(self, name: str) -> str | None:
        """The value as text."""
        return self._by_name.get(name)

    def number(self, name: str, default: int) -> int:
        """A whole number."""
        value = self._by_name.get(name)
        return default if value is None else int(value)

    def switch(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self._by_name.get(name)
        return default if value is None else value == "true"

    def every(self, name: str) -> tuple[str, ...]:
        """What all mentions of a flag say, each parted by commas."""
        return tuple(part for flag in self._flags if flag.name == name for part in flag.value.split(",") if part)

    def parts(self, name: str) -> tuple[str, ...]:
        """The value of the last mention, parted by commas or slashes."""
        return tuple(part for part in re.split(r"[,/]", self._by_name.get(name, "")) if part)

    def among(self, *names: str) -> tuple[Flag, ...]:
        """Every mention of some flags, in order."""
        return tuple(flag for flag in self._flags if flag.name in names)
