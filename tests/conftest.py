"""Shared fixtures: no test talks to anything but this machine."""

import socket
from pathlib import Path

import pytest
from hypothesis import settings

from kvplan.cli import main
from kvplan.hardware import presence
from tests.running import Ran, Run

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

SHARED = Path(__file__).parent.parent.parent / "shared"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite what tests compare with by what they get now")


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if host not in ("127.0.0.1", "::1", "localhost", ""):
            raise RuntimeError(f"a test tried to connect to {host}")
        connect(self, address)  # type: ignore[arg-type]  # passed through as it came

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def shared() -> Path:
    """The folder of real configs and engine answers beside a checkout, where there is one."""
    if not SHARED.is_dir():
        pytest.skip("needs the folder ../shared with real configs and engine answers")
    return SHARED


@pytest.fixture
def kvplan(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command line in this process, as a person would see it."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(presence, "_DRIVER_FILES", ())  # answers must not depend on this machine's GPU

    def run(*argv: str) -> Ran:
        code = main(argv)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run
