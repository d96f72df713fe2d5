"""What people set for the client: endpoints, tokens, time limits and proxies that are none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import constants

from kvplan import KvplanError
from kvplan.specs.hub import client as hub_client
from kvplan.specs.hub.client import checked_endpoint, checked_timeouts, token
from kvplan.specs.hub.failures import Asked, Refusal, refused
from kvplan.specs.hub.transport import Transport, Wanted


def refusal_of(error: pytest.ExceptionInfo[KvplanError]) -> tuple[str, int, bool]:
    return error.value.kind, error.value.exit_code, bool(error.value.hint)


@pytest.mark.parametrize(
    "endpoint", ["garbage", "127.0.0.1:80", "ftp://h", "http://", "http://h:99999", "http://a b", "http://h?x=1", "http://h\n"]
)
def test_endpoints_that_are_none(client: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    with pytest.raises(KvplanError, match="HF_ENDPOINT: expected the address of a Hub") as caught:
        Transport()
    assert refusal_of(caught) == ("bad_environment", 3, True)


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:80", "https://h/a/b", "http://user:word@h", "http://[::1]:8080", "http://ünï.test"])
def test_endpoints(client: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    assert checked_endpoint() == endpoint


@pytest.mark.parametrize("seconds", [-3, 10**10])
def test_time_limits_that_are_none(client: Path, monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", seconds)
    with pytest.raises(KvplanError, match="HF_HUB_ETAG_TIMEOUT: expected seconds") as caught:
        checked_timeouts()
    assert refusal_of(caught) == ("bad_environment", 3, True)


@pytest.mark.parametrize("value", ["hf_abc\ndef", " hf_abcdef\r\n"])
def test_the_client_cleans_tokens(client: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HF_TOKEN", value)
    assert token() == ("hf_abcdef", "in HF_TOKEN")


@pytest.mark.parametrize("value", ["hf_ünï", "hf_a\x1bb"])
def test_tokens_that_are_none(client: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HF_TOKEN", value)
    with pytest.raises(KvplanError, match="the token in HF_TOKEN has characters that none has") as caught:
        token()
    assert refusal_of(caught) == ("bad_token", 3, True)
    assert value not in str(caught.value)


def test_token_files_that_are_none(client: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for place, says in ((tmp_path, "Is a directory"), (tmp_path / "binary", "expected text")):
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(place))
        monkeypatch.setattr("huggingface_hub.utils._auth.constants.HF_TOKEN_PATH", str(place))
        with pytest.raises(KvplanError, match=says) as caught:
            token()
        assert refusal_of(caught) == ("bad_token", 3, True)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", "/dev/null/token")
    assert token() == ("", "")


@pytest.mark.parametrize("problem", [ImportError("no socksio"), ValueError("unknown scheme"), FileNotFoundError("no certificates")])
def test_proxies_and_certificates_that_are_none(client: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception) -> None:
    def session() -> None:
        raise problem

    monkeypatch.setattr("huggingface_hub.get_session", session)
    transport = Transport()
    with pytest.raises(KvplanError, match=f"no connection can be made: {problem}") as caught:
        transport.get(Wanted("http://127.0.0.1:1/", transport.asked("x", "a/b")))
    assert refusal_of(caught) == ("no_connection", 3, True)


def test_passwords_of_addresses_are_not_shown() -> None:
    asked = Asked("a/b", "a/b", "http://user:word@h:80/hub")
    gated = refused(asked, Refusal(401, {"x-error-code": "GatedRepo"}, ""))
    unknown = refused(asked, Refusal(401, {}, '{"error": "Invalid credentials in Authorization header"}'))
    assert "http://h:80/hub/a/b" in gated.hint
    assert "no such model at h:80" in unknown.message
    assert "word@" not in f"{gated.message}{gated.hint}{unknown.message}{unknown.hint}"


@pytest.mark.parametrize(("name", "value"), [("HF_HUB_ETAG_TIMEOUT", "abc"), ("HF_ENDPOINT", "http://[::1")])
def test_what_the_client_itself_stumbles_over(tmp_path: Path, name: str, value: str) -> None:
    environment = {**os.environ, "HF_HOME": str(tmp_path), name: value}
    run = [sys.executable, "-m", "kvplan", "estimate", "org/model", "--gpu", "none"]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("error: the Hub's client can't read its settings: ")
    assert "check HF_" in done.stderr


def test_offline_needs_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(hub_client, "checked_endpoint", None)
    assert Transport().offline
