"""Runs the command line in this process, as a person would see it."""

import pytest

from kvplan.cli import main
from tests.running import Ran, Run


@pytest.fixture
def kvplan(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*argv: str) -> Ran:
        code = main(argv)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run
