"""Reading ranges of files of the Hub."""

from collections.abc import Callable

import pytest

from kvplan import KvplanError
from kvplan.specs.hub import transport
from kvplan.specs.hub.remote import RemoteFile
from kvplan.specs.hub.transport import Transport
from tests.hub.conftest import wait_at_most
from tests.hub.loopback import COMMIT, Loopback, Reply, refusal

BODY = bytes(range(256)) * 1024
STORE = "/store/org/model//a.gguf"


@pytest.fixture
def file(hub: Loopback) -> RemoteFile:
    hub.repos["org/model"] = {"a.gguf": BODY}
    return opened(hub, size=len(BODY))


def opened(hub: Loopback, size: int = 0) -> RemoteFile:
    url = f"{hub.url}/org/model/resolve/{COMMIT}/a.gguf"
    return RemoteFile(Transport(), url, name="org/model/a.gguf", repo_id="org/model", size=size)


def test_ranges(hub: Loopback, file: RemoteFile) -> None:
    assert file.read(1000, 2000) == BODY[1000:2000]
    assert file.read(len(BODY) - 10, len(BODY) + 10) == BODY[-10:]
    assert file.read(len(BODY), len(BODY) + 10) == b""
    assert file.read(20, 10) == b""
    assert [asked.headers.get("range") for asked in hub.asked] == ["bytes=1000-1999"] * 2 + [f"bytes={len(BODY) - 10}-{len(BODY) - 1}"]


def test_redirects_are_followed_once_and_one_connection_is_kept(hub: Loopback, file: RemoteFile) -> None:
    for start in range(10):
        file.read(start * 100, start * 100 + 10)
    assert len(hub.paths("/resolve/")) == 1
    assert len({asked.client for asked in hub.asked if "/store/" in asked.path}) == 1


def test_the_token_stays_with_the_hub(hub: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.repos["org/model"] = {"a.gguf": BODY}
    file = opened(hub, size=len(BODY))
    file.read(0, 10)
    file.read(50, 60)
    sent = [("/resolve/" in asked.path, asked.headers.get("authorization")) for asked in hub.asked]
    assert sent == [(True, "Bearer hf_secret")] + [(False, None)] * 2


def test_the_beginning_is_kept(hub: Loopback, file: RemoteFile) -> None:
    assert file.read(0, 100) == BODY[:100]
    assert file.read(8, 50) == BODY[8:50]
    assert file.read(8, 300) == BODY[8:300]
    assert [asked.headers["range"] for asked in hub.asked if "/store/" in asked.path] == ["bytes=0-99", "bytes=100-299"]


def test_a_size_that_the_listing_does_not_say(hub: Loopback) -> None:
    hub.repos["org/model"] = {"a.gguf": BODY}
    assert opened(hub).size == len(BODY)


def test_a_signed_address_that_has_expired(hub: Loopback, file: RemoteFile) -> None:
    file.read(0, 10)
    hub.trap(STORE, lambda _: refusal(403, "", "Request has expired"))
    assert file.read(100, 110) == BODY[100:110]
    assert len(hub.paths("/resolve/")) == 2


def test_a_server_without_ranges_is_left_when_there_is_enough(hub: Loopback) -> None:
    hub.ranges = False
    hub.repos["org/model"] = {"a.gguf": BODY + bytes(50 * 2**20)}
    file = opened(hub)
    assert file.read(0, 10) == BODY[:10]
    assert file.read(1000, 1010) == BODY[1000:1010]
    with pytest.raises(KvplanError, match="the whole file where a range was asked for") as caught:
        file.read(20 * 2**20, 20 * 2**20 + 10)
    assert (caught.value.kind, caught.value.exit_code) == ("bad_answer", 3)


def changed(**how: object) -> Callable[[Reply], Reply]:
    return lambda reply: reply._replace(**how)  # type: ignore[arg-type]  # fields of Reply


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        pytest.param(changed(status=206, headers={"Content-Range": f"bytes 0-9/{len(BODY)}"}), "bad_answer", "another range", id="another"),
        pytest.param(changed(status=206), "bad_answer", "none named", id="unnamed"),
        pytest.param(
            changed(status=206, headers={"Content-Range": "bytes 100-199/7"}), "bad_answer", "7 bytes instead of 262144", id="another file"
        ),
        pytest.param(
            changed(status=206, body=b"x" * 10, headers={"Content-Range": f"bytes 100-199/{len(BODY)}"}),
            "cut_off",
            "10 of 100 bytes came",
            id="short",
        ),
        pytest.param(
            changed(status=206, headers={"Content-Range": f"bytes 100-199/{len(BODY)}", "Content-Encoding": "br"}),
            "bad_answer",
            "another range",
            id="packed",
        ),
        pytest.param(changed(body=b"<html>", headers={"Content-Type": "text/html; charset=utf-8"}), "bad_answer", "a web page", id="page"),
        pytest.param(changed(cut=50), "cut_off", "broke", id="cut"),
        pytest.param(changed(pause_s=3), "stalled", "stopped answering", id="stalled"),
        pytest.param(changed(hang_up=True), "cut_off", "broke", id="hung up"),
        pytest.param(changed(status=416), "hub_refused", "answered 416", id="no such range"),
    ],
)
def test_answers_that_are_none(
    hub: Loopback, monkeypatch: pytest.MonkeyPatch, change: Callable[[Reply], Reply], kind: str, says: str
) -> None:
    if kind == "stalled":
        wait_at_most(monkeypatch, 0.2)
    hub.repos["org/model"] = {"a.gguf": BODY}
    file = opened(hub, size=len(BODY))
    hub.trap(STORE, change, times=9)
    with pytest.raises(KvplanError, match=says) as caught:
        file.read(100, 200)
    assert (caught.value.kind, caught.value.exit_code) == (kind, 3)
    assert "org/model/a.gguf" in caught.value.message


def test_threads_tell_of_one_wait_once(hub: Loopback, notices: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repos["org/model"] = {"a.gguf": BODY}
    shared = Transport()
    monkeypatch.setattr(transport, "sleep", lambda _: None)
    url = f"{hub.url}/org/model/resolve/{COMMIT}/a.gguf"
    for _ in range(2):
        hub.trap(STORE, lambda _: refusal(503))
        RemoteFile(shared, url, name="a", repo_id="org/model").read(0, 10)
    assert notices == [f"{hub.url.removeprefix('http://')}: answered 503: trying again in 1 s"]
