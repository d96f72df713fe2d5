"""What a long answer says while it is made. The library says nothing by itself: the command line listens here."""

from collections.abc import Callable
from typing import NamedTuple


def _silent(text: str) -> None:
    """Nobody listens."""


class Listener(NamedTuple):
    """Who is told: ``notice`` what people must know (a wait), ``step`` what is being done right now."""

    notice: Callable[[str], None] = _silent
    step: Callable[[str], None] = _silent


_listeners = [Listener()]


def listen(listener: Listener) -> None:
    """Tell ``listener`` from now on, and nobody else. It is called from threads, one call at a time for each load."""
    _listeners[:] = [listener]


def notice(text: str) -> None:
    """Tell of a wait or a fallback."""
    _listeners[0].notice(text)


def step(text: str) -> None:
    """Tell what is being done."""
    _listeners[0].step(text)
