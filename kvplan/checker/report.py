"""What a check found: every server, every finding in order, and the lines that they stand on."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.checker.case import Case, Found, Level
from kvplan.checker.changes import Diff

LEVELS: tuple[Level, ...] = ("error", "warning", "note")


class Suppressed(NamedTuple):
    """A finding that somebody said to leave out, and why: in the file itself, or in a baseline beside it."""

    found: Found
    reason: str
    in_source: bool = True


class Report(NamedTuple):
    """The whole answer. ``lines`` holds the source lines of files with findings; ``n_files`` were looked at.

    With a ``diff``, ``found`` are the findings that the change brought.
    """

    cases: Sequence[Case]
    found: Sequence[Found]
    suppressed: Sequence[Suppressed] = ()
    lines: Mapping[str, Sequence[str]] = {}
    n_files: int = 0
    diff: Diff | None = None

    def worst(self) -> Level | None:
        """The highest level of any finding."""
        return next((level for level in LEVELS if any(found.level == level for found in self.found)), None)


def in_order(found: Sequence[Found]) -> tuple[Found, ...]:
    """By file, line, column and id; each once."""
    by_place = {(one.file, one.line, one.column, one.rule, one.message): one for one in reversed(found)}
    return tuple(by_place[place] for place in sorted(by_place))
