"""What is being done while the Hub is asked or a model is run: on a terminal one rewritten line; what people must know, anywhere."""

import contextlib
import sys

from kvplan.specs.hub.progress import Listener, listen

_REWRITE = "\r\x1b[K"
_COLUMNS = 79


class _Line:
    """The one line, and whether it stands on the terminal now."""

    def __init__(self) -> None:
        self._stands = False

    def step(self, text: str) -> None:
        if sys.stderr.isatty():
            self._stands = True
            _say(f"{_REWRITE}{text[:_COLUMNS]}")

    def notice(self, text: str) -> None:
        self.clear()
        _say(f"{text}\n")

    def clear(self) -> None:
        if self._stands:
            self._stands = False
            _say(_REWRITE)


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


_line = _Line()
clear, step, notice = _line.clear, _line.step, _line.notice
_BAR = 20


def start() -> None:
    """Show from now on what the library tells."""
    listen(Listener(_line.notice, _line.step))


def bar(done: int, of: int, what: str) -> None:
    """On a terminal, how many of some points are done, and which one is being worked on."""
    filled = _BAR * done // of
    step(f"[{'#' * filled}{'-' * (_BAR - filled)}] {done}/{of} {what}")
