"""Runs the command line in this process, as a person would see it."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from kvplan.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def kvplan(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*argv: str) -> Ran:
        code = main(argv)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run
