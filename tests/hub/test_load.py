"""Models of the Hub, from the listing to the spec."""

from pathlib import Path

import pytest
from huggingface_hub import hf_hub_download, try_to_load_from_cache

from kvplan import KvplanError, load_model
from kvplan.specs.hub import cache, progress
from tests import weights
from tests.hub.conftest import go_offline
from tests.hub.loopback import COMMIT, Loopback, Reply, refusal
from tests.hub.models import CONFIG, ENDS, LAYER, N_BYTES, text

SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
INDEX = {"metadata": {}, "weight_map": {name: shard for shard, part in zip(SHARDS, (LAYER, ENDS), strict=True) for name in part}}


@pytest.fixture
def model(hub: Loopback) -> Loopback:
    hub.repos["org/model"] = {
        "config.json": text(CONFIG),
        SHARDS[0]: weights.whole(LAYER),
        SHARDS[1]: weights.whole(ENDS),
        "model.safetensors.index.json": text(INDEX),
        "pytorch_model.bin": bytes(10),
    }
    return hub


def rules(ref: str) -> list[str]:
    return [caveat.rule for caveat in load_model(ref).caveats]


def test_a_model(model: Loopback) -> None:
    spec = load_model("org/model")
    assert (spec.id, spec.source, spec.revision, spec.stored_dtype) == ("org/model", "hub", COMMIT, "bfloat16")
    assert spec.checkpoint is not None
    assert (spec.checkpoint.n_bytes, spec.checkpoint.n_files, spec.checkpoint.basis) == (N_BYTES, 2, "headers")
    assert spec.caveats == ()
    assert not model.paths("pytorch_model.bin")


def test_weights_are_never_downloaded(model: Loopback, client: Path) -> None:
    big = {**ENDS, "model.embed_tokens.weight": ("BF16", (2**20, 64))}
    model.repos["org/model"] |= {SHARDS[1]: weights.whole(big), "config.json": text({**CONFIG, "vocab_size": 2**20})}
    load_model("org/model")
    stops = [int(asked.headers["range"].rpartition("-")[2]) for asked in model.asked if "/store/" in asked.path]
    assert len(stops) == 2
    assert max(stops) < 100_000
    assert sum(path.stat().st_size for path in client.rglob("*") if path.is_file()) < 10_000


@pytest.mark.parametrize(
    "ref", ["org/model@main", f"org/model@{COMMIT}", "URL/org/model", "URL/org/model/tree/main", "URL/org/model/blob/main/config.json"]
)
def test_ways_to_name_it(model: Loopback, ref: str) -> None:
    spec = load_model(ref.replace("URL", model.url))
    named = ref if "@" in ref else "org/model@main" if "main" in ref else "org/model"
    assert (spec.id, spec.revision) == (named, COMMIT)


def test_a_path_that_exists_goes_first(model: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("org/model").mkdir(parents=True)
    Path("org/model/config.json").write_bytes(text(CONFIG))
    assert load_model("org/model").source == "dir"
    assert model.asked == []


def test_a_renamed_model(model: Loopback) -> None:
    model.names["old/name"] = "org/model"
    spec = load_model("old/name")
    assert spec.id == "org/model"
    assert [(caveat.rule, caveat.message) for caveat in spec.caveats] == [("KV016", "old/name is org/model now")]
    assert load_model(f"{model.url}/old/name").id == "org/model"


def test_files_beside_the_config(model: Loopback) -> None:
    model.repos["org/model"]["generation_config.json"] = text({"use_cache": False})
    assert load_model("org/model").use_cache_off_in == "org/model/generation_config.json"
    del model.repos["org/model"]["model.safetensors.index.json"], model.repos["org/model"][SHARDS[0]], model.repos["org/model"][SHARDS[1]]
    model.repos["org/model"]["hf_quant_config.json"] = text({"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}})
    assert load_model("org/model").quantization == "modelopt"


def test_a_shard_that_is_missing(model: Loopback) -> None:
    del model.repos["org/model"][SHARDS[0]]
    with pytest.raises(KvplanError, match="is not there") as caught:
        load_model("org/model")
    assert (caught.value.kind, caught.value.exit_code) == ("missing_weights", 2)


@pytest.mark.parametrize("how", ["told", "unreachable"])
def test_offline_the_cache_must_do(model: Loopback, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    online = load_model("org/model")
    go_offline(monkeypatch, how)
    spec = load_model("org/model")
    assert (spec.n_params, spec.revision, spec.checkpoint) == (online.n_params, COMMIT, None)
    (caveat,) = spec.caveats
    assert caveat.rule == "KV017"
    assert caveat.message.endswith(f"read from the cache, as of commit {COMMIT}; its weights are not there and counted by arithmetic")


def test_offline_with_all_shards(model: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    online = load_model("org/model")
    for shard in SHARDS:
        cache.keep("org/model", COMMIT, shard, model.repos["org/model"][shard], revision="main")
    go_offline(monkeypatch, "told")
    assert load_model("org/model").checkpoint == online.checkpoint


@pytest.mark.parametrize("ref", ["org/model", "org/model@v2", f"org/model@{COMMIT}", "org/model:a.gguf"])
def test_offline_without_a_cache(hub: Loopback, monkeypatch: pytest.MonkeyPatch, ref: str) -> None:
    go_offline(monkeypatch, "told")
    with pytest.raises(KvplanError, match="HF_HUB_OFFLINE is set, and the cache does not hold") as caught:
        load_model(ref)
    assert (caught.value.kind, caught.value.exit_code) == ("offline", 3)


def test_the_client_finds_what_we_kept_and_we_what_it_keeps(model: Loopback, client: Path) -> None:
    load_model("org/model")
    kept = hf_hub_download("org/model", "config.json", local_files_only=True)
    assert Path(kept).read_bytes() == text(CONFIG)
    assert try_to_load_from_cache("org/model", "model.safetensors.index.json", revision=COMMIT)
    cache.keep("org/model", COMMIT, SHARDS[0], model.repos["org/model"][SHARDS[0]], revision="main")
    model.asked.clear()
    load_model("org/model")
    assert [path.rpartition("/")[2] for path in model.paths() if "?" not in path] == [SHARDS[1], SHARDS[1]]


def test_a_cache_that_can_not_be_written(model: Loopback, client: Path) -> None:
    client.parent.mkdir(exist_ok=True)
    client.write_text("in the way")
    assert load_model("org/model").checkpoint is not None


def test_a_file_system_without_links(model: Loopback, client: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: object) -> None:
        raise OSError

    monkeypatch.setattr(Path, "symlink_to", refuse)
    load_model("org/model")
    assert try_to_load_from_cache("org/model", "config.json", revision=COMMIT)


def test_access_lost_since(model: Loopback) -> None:
    load_model("org/model")
    for shard in SHARDS:
        model.refusals[f"/org/model/resolve/{COMMIT}/{shard}"] = refusal(401, "GatedRepo", "x")
    with pytest.raises(KvplanError, match="gated"):
        load_model("org/model")


def test_headers_are_told_of(model: Loopback) -> None:
    said: list[str] = []
    progress.listen(progress.Listener(step=said.append))
    load_model("org/model")
    progress.listen(progress.Listener())
    assert said == ["org/model: reading headers 1/2", "org/model: reading headers 2/2"]


def test_pickles_have_sizes_alone(hub: Loopback) -> None:
    hub.repos["org/model"] = {"config.json": text(CONFIG), "pytorch_model.bin": bytes(1000)}
    found = load_model("org/model").checkpoint
    assert found is not None
    assert (found.format, found.basis, found.file_bytes) == ("torch", "file sizes", 1000)
    assert not hub.paths("pytorch_model.bin")


@pytest.mark.parametrize(
    ("files", "kind", "says", "hint"),
    [
        ({"README.md": b"#"}, "no_config", "expected a config.json or a .gguf file, found neither", "name a repository"),
        ({}, "no_config", "found an empty repository", "name a repository"),
        ({"params.json": b"{}", "consolidated.safetensors": b""}, "no_config", "Mistral's own params.json", "with a config.json"),
        ({"adapter_config.json": b'{"base_model_name_or_path": "a/b"}'}, "adapter", "its base model is a/b", "name the base model: a/b"),
        ({"adapter_config.json": b"{}"}, "adapter", "an adapter (LoRA), not a model", "name the base model"),
        ({"mmproj-F16.gguf": b""}, "no_model", "mmproj", "projectors"),
        ({"a-Q4_K_M.gguf": bytes(9), "a-Q8_0.gguf": bytes(99)}, "several_models", "2 GGUF models", "org/x:a-Q4_K_M.gguf"),
    ],
)
def test_repositories_of_something_else(hub: Loopback, files: dict[str, bytes], kind: str, says: str, hint: str) -> None:
    hub.repos["org/x"] = files
    with pytest.raises(KvplanError) as caught:
        load_model("org/x")
    assert (caught.value.kind, caught.value.exit_code) == (kind, 2)
    assert says in caught.value.message
    assert hint in caught.value.hint


def test_a_listing_without_sizes(model: Loopback) -> None:
    bare = {"id": "org/model", "siblings": [{"rfilename": name} for name in model.repos["org/model"]]}
    model.refusals["/api/models/org/model"] = Reply(body=text(bare))
    spec = load_model("org/model")
    assert spec.revision is None
    assert spec.checkpoint is not None
    assert spec.checkpoint.n_bytes == N_BYTES
