"""Every right and every fault that the stand-in for the Hub knows, each with the error that people get."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kvplan import KvplanError, load_model
from kvplan.specs.hub import transport
from tests.hub.conftest import turn, wait_at_most
from tests.hub.models import CONFIG, ENDS, LAYER, N_BYTES

VIRTUAL = {"model.safetensors": {"tensors": {name: [dtype, list(shape)] for name, (dtype, shape) in {**LAYER, **ENDS}.items()}}}
FACTS: dict[str, dict[str, object]] = {
    "org/plain": {},
    "org/gated": {"gated": "manual"},
    "org/private": {"private": True},
    "org/disabled": {"disabled": True},
    "org/old": {"moved_to": "org/plain"},
}


@pytest.fixture(scope="module")
def fake(stand_in: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    root = tmp_path_factory.mktemp("repos")
    for repo_id, facts in FACTS.items():
        for folder in (root / repo_id, root / repo_id / ".revisions" / "v2"):
            folder.mkdir(parents=True)
            (folder / "config.json").write_text(json.dumps(CONFIG))
        (root / repo_id / ".fakehub.json").write_text(json.dumps({**facts, "virtual": VIRTUAL}))
    (root / ".aliases.json").write_text('{"bare": "org/plain"}')
    with stand_in(root, tokens={"hf_reader": ["*"], "hf_stranger": []}) as fake:
        yield fake


@pytest.fixture
def hub(fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    turn(monkeypatch, fake.url, tmp_path)
    fake.clear()
    fake.code_on_401 = True
    return fake


def failure(ref: str) -> tuple[str, int]:
    with pytest.raises(KvplanError) as caught:
        load_model(ref)
    assert caught.value.hint
    return caught.value.kind, caught.value.exit_code


RIGHTS = [
    ("org/none", "", "repo_not_found", 2),
    ("org/none", "hf_reader", "repo_not_found", 2),
    ("org/private", "", "repo_not_found", 2),
    ("org/private", "hf_stranger", "repo_not_found", 2),
    ("org/plain", "hf_unknown", "bad_token", 3),
    ("org/gated", "", "gated_no_token", 3),
    ("org/gated", "hf_stranger", "gated_no_access", 3),
    ("org/disabled", "", "repo_disabled", 3),
    ("org/plain@v3", "", "revision_not_found", 2),
    ("org/plain:a.gguf", "", "file_not_found", 2),
    ("URL/nobody", "", "repo_not_found", 2),
]


@pytest.mark.parametrize("mirror", ["https", "http"])
@pytest.mark.parametrize(("ref", "token", "kind", "exit_code"), RIGHTS)
def test_who_may_see_what(hub: Any, mirror: str, ref: str, token: str, kind: str, exit_code: int) -> None:
    hub.code_on_401 = mirror == "https"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", token)
        assert failure(ref.replace("URL", hub.url)) == (kind, exit_code)


@pytest.mark.parametrize("ref", ["org/plain", "org/private", "org/gated", "org/old", "org/plain@v2", "URL/bare", "URL/org/plain/tree/v2"])
def test_who_may_see_all(hub: Any, monkeypatch: pytest.MonkeyPatch, ref: str) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_reader")
    spec = load_model(ref.replace("URL", hub.url))
    renamed = "old" in ref or "bare" in ref
    assert [caveat.rule for caveat in spec.caveats] == ["KV016"] * renamed
    if "v2" not in ref:
        assert spec.checkpoint is not None
        assert spec.checkpoint.n_bytes == N_BYTES


FAULTS = [
    pytest.param({"status": 429}, "rate_limited", id="429"),
    pytest.param({"status": 429, "headers": {"RateLimit": '"api";r=0;t=300'}}, "rate_limited", id="429, five minutes"),
    pytest.param({"status": 500}, "hub_error", id="500"),
    pytest.param({"status": 503, "body": "<html>"}, "hub_error", id="503"),
    pytest.param({"delay": 2}, "stalled", id="late"),
    pytest.param({"stall": 2}, "stalled", id="stalled"),
    pytest.param({"trickle": 0.3}, "stalled", id="trickling"),
    pytest.param({"cut": 20}, "cut_off", id="cut"),
    pytest.param({"drop": True}, "cut_off", id="dropped"),
]
PLACES = [pytest.param("/api/models/", id="listing"), pytest.param("config.json", id="config"), pytest.param("safetensors", id="weights")]


@pytest.mark.parametrize("pattern", PLACES)
@pytest.mark.parametrize(("fault", "kind"), FAULTS)
def test_faults(hub: Any, monkeypatch: pytest.MonkeyPatch, pattern: str, fault: dict[str, Any], kind: str) -> None:
    monkeypatch.setattr(transport, "SLOWEST_BYTES_PER_S", 2**20)
    if kind == "stalled":
        wait_at_most(monkeypatch, 0.2)
    hub.fault(pattern, times=None, **fault)
    assert failure("org/plain") == (kind, 3)


@pytest.mark.parametrize("pattern", PLACES)
@pytest.mark.parametrize("fault", [{"status": 429}, {"status": 502}, {"drop": True}, {"cut": 20}], ids=str)
def test_faults_that_pass(hub: Any, pattern: str, fault: dict[str, Any]) -> None:
    hub.fault(pattern, **fault)
    spec = load_model("org/plain")
    assert spec.checkpoint is not None
    assert spec.checkpoint.n_bytes == N_BYTES


@pytest.mark.parametrize(
    ("pattern", "body", "expected"),
    [
        ("/api/models/", "<!DOCTYPE html>", ("bad_answer", 3)),
        ("/api/models/", "ok", ("bad_answer", 3)),
        ("/api/models/", [], ("bad_answer", 3)),
        ("config.json", "<!DOCTYPE html>", ("bad_answer", 3)),
        ("config.json", "{", ("bad_json", 2)),
        ("config.json", [], ("bad_config", 2)),
        ("config.json", {"model_type": "llama"}, ("bad_config", 2)),
    ],
)
def test_other_bodies(hub: Any, pattern: str, body: object, expected: tuple[str, int]) -> None:
    hub.fault(pattern, times=None, status=200, body=body)
    assert failure("org/plain") == expected


def test_without_ranges_as_much_is_read_as_is_needed(hub: Any) -> None:
    hub.fault("safetensors", times=None, no_range=True)
    spec = load_model("org/plain")
    assert spec.checkpoint is not None
    assert spec.checkpoint.n_bytes == N_BYTES


def test_headers_that_a_mirror_leaves_out(hub: Any) -> None:
    hub.fault("", times=None, strip=["ETag", "X-Repo-Commit", "X-Linked-Etag", "X-Linked-Size", "Content-Type"])
    assert load_model("org/plain").checkpoint is not None
