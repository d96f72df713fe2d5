"""Commands as data: read without click when a line is plain, by click for help, completion and complaints."""

from collections.abc import Callable, Mapping
from typing import NamedTuple


class Option(NamedTuple):
    """One ``--flag``; it takes a value when it has a ``metavar``, and may stand several times when it is ``many``."""

    flag: str
    help: str
    group: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    many: bool = False

    @property
    def name(self) -> str:
        """Its name in ``Said``: ``--kv-dtype`` is kv_dtype."""
        return self.flag.lstrip("-").replace("-", "_")


class Said(NamedTuple):
    """What the user said: positional words, options with values, flags, and the words after ``--``.

    ``lists`` holds every value of the options that may stand several times.
    """

    words: tuple[str, ...]
    values: Mapping[str, str]
    flags: frozenset[str]
    after: tuple[str, ...] = ()
    lists: Mapping[str, tuple[str, ...]] = {}


class Command(NamedTuple):
    """One verb: its help, what it takes, real examples, and the function that runs it and returns an exit code."""

    name: str
    help: str
    argument: str | None
    options: tuple[Option, ...]
    examples: tuple[str, ...]
    run: Callable[[Said], int]
    many: bool = False
