"""GGUF files of the Hub."""

import pytest

from kvplan import KvplanError, load_model
from kvplan.specs.hub import cache
from tests.hub.conftest import go_offline
from tests.hub.loopback import COMMIT, Loopback
from tests.hub.models import gguf


def test_several_ggufs_are_listed_with_their_sizes(hub: Loopback) -> None:
    hub.repos["org/x"] = {"config.json": b"{}", "a-Q4_K_M.gguf": bytes(2**20), "a-Q8_0.gguf": bytes(2**21)}
    with pytest.raises(KvplanError) as caught:
        load_model("org/x")
    assert [line.split() for line in caught.value.details] == [["1.00", "MiB", "a-Q4_K_M.gguf"], ["2.00", "MiB", "a-Q8_0.gguf"]]


@pytest.mark.parametrize(
    ("files", "says"), [({"a.gguf": b"", "b.gguf": b""}, "it holds b.gguf, a.gguf"), ({"config.json": b""}, "it holds no GGUF file")]
)
def test_a_file_that_is_not_there(hub: Loopback, files: dict[str, bytes], says: str) -> None:
    hub.repos["org/x"] = files
    with pytest.raises(KvplanError) as caught:
        load_model("org/x:c.gguf")
    with pytest.raises(KvplanError, match="no such file"):
        load_model("org/x:Q4_K_M")
    assert (caught.value.kind, caught.value.exit_code, caught.value.hint) == ("file_not_found", 2, says)


@pytest.mark.parametrize("ref", ["org/x", "org/x@main:a.gguf", "URL/org/x/blob/main/a.gguf"])
def test_a_gguf_file(hub: Loopback, ref: str) -> None:
    hub.repos["org/x"] = {"README.md": b"", "a.gguf": gguf(n_blocks=200), "mmproj-a.gguf": b""}
    spec = load_model(ref.replace("URL", hub.url))
    assert (spec.id, spec.source, spec.revision) == (ref.replace("URL/org/x/blob/main/", "org/x@main:"), "hub", COMMIT)
    assert spec.checkpoint is not None
    assert (spec.checkpoint.format, spec.checkpoint.file_bytes) == ("gguf", len(hub.repos["org/x"]["a.gguf"]))
    n_fetched = sum(sent(asked.headers["range"]) for asked in hub.asked if "/store/" in asked.path)
    assert n_fetched < 2 * len(gguf(n_blocks=200)) - 2 * spec.checkpoint.n_bytes


def sent(ranged: str) -> int:
    first, _, last = ranged.removeprefix("bytes=").partition("-")
    return int(last) + 1 - int(first)


def test_a_split_gguf(hub: Loopback) -> None:
    hub.repos["org/x"] = {f"Q4/a-0000{i + 1}-of-00002.gguf": gguf(split=(i, 2)) for i in range(2)}
    spec = load_model("org/x")
    assert spec.n_layers == 2
    assert spec.checkpoint is not None
    assert spec.checkpoint.n_files == 2
    del hub.repos["org/x"]["Q4/a-00002-of-00002.gguf"]
    with pytest.raises(KvplanError, match="part 2 of 2 is needed") as caught:
        load_model("org/x:Q4/a-00001-of-00002.gguf")
    assert caught.value.exit_code == 2


def test_a_gguf_file_of_the_cache(hub: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repos["org/x"] = {"a.gguf": gguf()}
    cache.keep("org/x", COMMIT, "a.gguf", gguf(), revision="main")
    assert load_model("org/x").checkpoint is not None
    assert not hub.paths("/store/")
    go_offline(monkeypatch, "told")
    for ref in ("org/x:a.gguf", "org/x"):
        assert [caveat.rule for caveat in load_model(ref).caveats] == ["KV017"]


def test_a_quantization_of_a_repository(hub: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repos["org/x"] = {"a-Q4_K_M.gguf": gguf(), "a-Q8_0.gguf": b"", "config.json": b"{}"}
    assert load_model("org/x:q4_k_m").id == "org/x:q4_k_m"
    with pytest.raises(KvplanError) as caught:
        load_model("org/x:Q5_K_M")
    assert (caught.value.kind, caught.value.exit_code) == ("file_not_found", 2)
    go_offline(monkeypatch, "told")
    with pytest.raises(KvplanError) as caught:
        load_model("org/x:Q5_K_M")
    assert (caught.value.kind, caught.value.exit_code) == ("offline", 3)
