import sys

import pytest

from kvplan.hardware import presence


@pytest.mark.parametrize(
    ("platform", "files", "answer"),
    [
        pytest.param("linux", (), "not worth asking", id="no driver"),
        pytest.param("linux", ("/dev/null",), "worth asking", id="a device file"),
        pytest.param("win32", (), "worth asking", id="no device files to look for"),
    ],
)
def test_driver(monkeypatch: pytest.MonkeyPatch, platform: str, files: tuple[str, ...], answer: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(presence, "_DRIVER_FILES", files)
    assert presence.driver() is (answer == "worth asking")
