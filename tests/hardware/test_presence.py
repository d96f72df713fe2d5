import pytest

from kvplan.hardware import presence


@pytest.mark.parametrize(
    ("platform", "files", "worth_asking"), [("linux", (), False), ("linux", ("/dev/null",), True), ("win32", (), True)]
)
def test_driver(monkeypatch: pytest.MonkeyPatch, platform: str, files: tuple[str, ...], worth_asking: bool) -> None:
    monkeypatch.setattr(presence.sys, "platform", platform)
    monkeypatch.setattr(presence, "_DRIVER_FILES", files)
    assert presence.driver() is worth_asking
