"""Listings, headers and caches that are wrong on purpose: never a crash, never a file outside the cache, never another file's bytes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kvplan import KvplanError, load_model
from kvplan.specs.hub import cache
from kvplan.specs.hub.failures import number
from tests.hub.loopback import COMMIT, Loopback, Reply
from tests.weights import Layout, whole

CONFIG = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1, "num_attention_heads": 4,
    "vocab_size": 256, "max_position_embeddings": 512, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
}  # fmt: skip
CONFIG_FILE = json.dumps(CONFIG).encode()


def listed(hub: Loopback, **facts: object) -> None:
    """A repository whose listing says ``facts``."""
    hub.repos["a/b"] = {"config.json": CONFIG_FILE}
    said = {"id": "a/b", "sha": COMMIT, "siblings": [{"rfilename": "config.json", "size": len(CONFIG_FILE)}], **facts}
    hub.trap("/api/models/", lambda _: Reply(body=json.dumps(said).encode()), times=9)


@pytest.mark.parametrize("name", ["x" * 5000, "a\ud800", "a\0", "/etc/x", "", "a//b"])
def test_files_that_no_disk_can_name(hub: Loopback, client: Path, name: str) -> None:
    listed(hub, siblings=[{"rfilename": "config.json"}, {"rfilename": f"{name}.safetensors" if name else "", "size": 9}, 5, None])
    assert load_model("a/b").checkpoint is None


@pytest.mark.parametrize("sha", ["../../../../etc", 5, None, "C0FFEE", ""])
def test_a_commit_that_is_none(hub: Loopback, client: Path, sha: object) -> None:
    listed(hub, sha=sha)
    spec = load_model("a/b")
    assert spec.revision is None
    assert not client.exists()  # what has no commit has no place in the cache


@pytest.mark.parametrize("repo_id", ["../../x\0y", "a/b/c", "/a", "", 5])
def test_an_id_that_is_none(hub: Loopback, repo_id: object) -> None:
    listed(hub, id=repo_id)
    with pytest.raises(KvplanError, match="a listing without id or files") as caught:
        load_model("a/b")
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("size", [-5, True, 2.5, "9"])
def test_a_size_that_is_none_is_asked_for(hub: Loopback, size: object) -> None:
    weights: Layout = {"model.embed_tokens.weight": ("BF16", (256, 64))}
    listed(hub, siblings=[{"rfilename": "config.json"}, {"rfilename": "model.safetensors", "size": size}])
    hub.repos["a/b"]["model.safetensors"] = whole(weights)
    checkpoint = load_model("a/b").checkpoint
    assert checkpoint is not None
    assert checkpoint.n_bytes == 2 * 256 * 64


def test_an_empty_file_of_weights(hub: Loopback) -> None:
    hub.repos["a/b"] = {"config.json": CONFIG_FILE, "model.safetensors": b""}
    hub.trap("model.safetensors", lambda _: Reply(416, headers={"Content-Range": "bytes */0"}), times=9)
    with pytest.raises(KvplanError, match=r"a/b/model.safetensors: the file is empty") as caught:
        load_model("a/b")
    assert caught.value.exit_code == 2


def test_an_adapter_whose_base_is_no_name(hub: Loopback) -> None:
    hub.repos["a/b"] = {"adapter_config.json": b'{"base_model_name_or_path": {"a": 1}}'}
    with pytest.raises(KvplanError, match=r"not a model$"):
        load_model("a/b")


@pytest.mark.parametrize(("text", "value"), [("12", 12), ("²", None), ("٣", None), ("9" * 5000, None), ("-1", None), ("", None)])
def test_numbers_of_headers(text: str, value: int | None) -> None:
    assert number(text) == value


@pytest.mark.parametrize("damage", [lambda body: body[:9], lambda body: body.replace(b"64", b"32"), lambda _: b""])
def test_a_damaged_cache_is_mended(hub: Loopback, client: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[bytes], bytes]) -> None:
    hub.repos["a/b"] = {"config.json": CONFIG_FILE}
    sound = load_model("a/b")
    blob = cache.path_of("a/b", COMMIT, "config.json")
    assert blob is not None
    blob.write_bytes(damage(CONFIG_FILE))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(KvplanError, match="not whole in the cache") as caught:
        load_model("a/b")
    assert caught.value.exit_code == 3
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    assert load_model("a/b") == sound
    assert blob.read_bytes() == CONFIG_FILE


@pytest.mark.parametrize("revision", ["../../x", "/tmp/x", ".."])
def test_revisions_stay_in_the_cache(client: Path, revision: str) -> None:
    cache.keep("a/b", COMMIT, "config.json", b"{}", revision=revision)
    assert not client.exists()
    assert cache.commit_of("a/b", revision) is None


def test_a_cache_that_may_not_be_looked_at(hub: Loopback, client: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repos["a/b"] = {"config.json": CONFIG_FILE}
    sound = load_model("a/b")

    def forbidden(path: Path) -> bool:
        raise PermissionError(path)

    monkeypatch.setattr(Path, "is_file", forbidden)
    assert load_model("a/b") == sound
    assert cache.files("a/b", COMMIT) == {}
