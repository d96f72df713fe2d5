"""The client, turned to a Hub on this machine, with a cache and a token file of its own."""

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from kvplan.specs.hub import progress, transport
from tests.hub.loopback import Loopback, serving


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
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    cache = tmp_path / "hub"
    for name, value in {
        "ENDPOINT": server.url,
        "HUGGINGFACE_CO_URL_TEMPLATE": server.url + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HUB_CACHE": str(cache),
        "HF_TOKEN_PATH": str(tmp_path / "token"),
        "HF_HUB_OFFLINE": False,
        "HF_HUB_DISABLE_IMPLICIT_TOKEN": False,
        "HF_HUB_ETAG_TIMEOUT": 1,
        "HF_HUB_DOWNLOAD_TIMEOUT": 1,
    }.items():
        monkeypatch.setattr(constants, name, value)
    return cache


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
