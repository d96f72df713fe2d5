"""The client, turned to a Hub on this machine, with a cache and a token file of its own."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import constants

from kvplan.specs.hub import progress, transport
from tests.hub.loopback import Loopback, serving

STAND_IN = Path(__file__).parents[3] / "shared" / "hub"
_PATIENCE_S = 10  # for answers that do come, however busy the machine is


@pytest.fixture(scope="session")
def server() -> Iterator[Loopback]:
    with serving() as hub:
        yield hub
        huggingface_hub.close_session()


@pytest.fixture
def hub(server: Loopback, client: Path) -> Loopback:
    """An empty Hub that the client is turned to."""
    server.__init__(server.url, server.store_url)  # type: ignore[misc]  # the state of the last test is forgotten
    return server


@pytest.fixture
def client(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The client's cache; nothing of this machine's own is read or written."""
    return turn(monkeypatch, server.url, tmp_path)


def turn(patch: pytest.MonkeyPatch, url: str, home: Path) -> Path:
    """The client asks ``url`` and keeps its files in ``home``; its cache there is returned."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        patch.delenv(name, raising=False)
    cache = home / "hub"
    for name, value in {
        "ENDPOINT": url,
        "HUGGINGFACE_CO_URL_TEMPLATE": url + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HUB_CACHE": str(cache),
        "HF_TOKEN_PATH": str(home / "token"),
        "HF_HUB_OFFLINE": False,
        "HF_HUB_DISABLE_IMPLICIT_TOKEN": False,
    }.items():
        patch.setattr(constants, name, value)
    wait_at_most(patch, _PATIENCE_S)
    return cache


def wait_at_most(patch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set both time limits; short ones are for answers that never come."""
    for name in ("HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT"):
        patch.setattr(constants, name, seconds)


def go_offline(patch: pytest.MonkeyPatch, how: str) -> None:
    """Be told so, or find nobody there."""
    if how == "told":
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
    else:
        patch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")


@pytest.fixture(scope="session")
def stand_in() -> Iterator[Callable[..., Any]]:
    """The class of the stand-in for the Hub that lies beside a checkout: serves a folder of repositories."""
    if not STAND_IN.is_dir():
        pytest.skip("needs the folder ../shared with the stand-in for the Hub")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(STAND_IN)
        yield import_module("fakehub").FakeHub


@pytest.fixture(autouse=True)
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each wait would have been."""
    waits: list[float] = []
    monkeypatch.setattr(transport, "sleep", waits.append)
    return waits


@pytest.fixture
def notices() -> Iterator[list[str]]:
    """What people are told."""
    said: list[str] = []
    progress.listen(progress.Listener(notice=said.append))
    yield said
    progress.listen(progress.Listener())
