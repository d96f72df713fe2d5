"""What is shown while the Hub is asked."""

import io
import sys

import pytest

from kvplan.cli import progress
from kvplan.specs.hub import progress as told


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def listening(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> io.StringIO:
    monkeypatch.setattr(sys, "stderr", stream)
    progress.start()
    return stream


def test_steps_are_one_line_that_is_rewritten_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = listening(monkeypatch, Terminal())
    told.step("reading headers 1/2")
    told.step("reading headers 2/2")
    progress.clear()
    progress.clear()
    assert terminal.getvalue() == "\r\x1b[Kreading headers 1/2\r\x1b[Kreading headers 2/2\r\x1b[K"


def test_a_notice_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = listening(monkeypatch, Terminal())
    told.step("reading headers 1/2")
    told.notice("waiting 3 s")
    progress.clear()
    assert terminal.getvalue().endswith("\r\x1b[Kwaiting 3 s\n")


def test_without_a_terminal_only_notices_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = listening(monkeypatch, io.StringIO())
    told.step("reading headers 1/2")
    told.notice("waiting 3 s")
    assert stream.getvalue() == "waiting 3 s\n"
