"""Which files are the checkpoint, and what their headers make of a spec."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from kvplan.core.errors import RequestError
from kvplan.specs import load_model
from kvplan.specs.build import build
from kvplan.specs.weight_files import WeightFiles, choose, with_sizes, with_weights
from tests.specs.test_holdings import LLAMA, llama
from tests.specs.test_reconciled import layout_of, read, told
from tests.weights import InMemory, claimed, framed, total, whole

SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
MAP = {"weight_map": {"a": SHARDS[0], "b": SHARDS[1], "c": SHARDS[0]}}

CHOICES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "one file": (("model.safetensors",), ("model.safetensors", "config.json")),
    "one file beside an index, as Transformers": (("model.safetensors",), ("model.safetensors", "model.safetensors.index.json", *SHARDS)),
    "shards of an index": (
        SHARDS,
        (*SHARDS, "model.safetensors.index.json", "model-00003-of-00003.safetensors", "consolidated.safetensors"),
    ),
    "shards without an index": (SHARDS, SHARDS),
    "weights twice": (
        SHARDS,
        (*SHARDS, "original/consolidated.00.pth", "consolidated.00.pth", "pytorch_model.bin", "onnx/model.onnx", "x.gguf"),
    ),
    "a file of another name": (("quantized.safetensors",), ("quantized.safetensors", "adapter_model.safetensors", "training_args.bin")),
    "a variant alone": (("model.fp16.safetensors",), ("model.fp16.safetensors",)),
    "a variant besides": (("weights.safetensors",), ("model.fp16.safetensors", "weights.safetensors")),
    "shards of a variant": (("model-00001-of-00001.fp16.safetensors",), ("model-00001-of-00001.fp16.safetensors",)),
    "several sets": ((), ("a.safetensors", "b.safetensors")),
    "folders alone": ((), ("unet/model.safetensors", "text_encoder/pytorch_model.bin")),
    "no model": ((), ("adapter_model.safetensors", "consolidated.safetensors", "optimizer.bin", "rng_state_0.pth")),
    "nothing": ((), ()),
}
PICKLES = {
    "one pickle": (("pytorch_model.bin",), ("pytorch_model.bin", "training_args.bin", "consolidated.00.pth")),
    "parts of pickles": (("pytorch_model-00001-of-00001.bin",), ("pytorch_model-00001-of-00001.bin", "optimizer.bin")),
    "one other pickle": (("rwkv.pth",), ("rwkv.pth", "tokenizer.json")),
}


def chosen(files: tuple[str, ...], index: Mapping[str, object] = MAP) -> WeightFiles | None:
    return choose(dict.fromkeys(files, 7), lambda name: index)


@pytest.mark.parametrize(("expected", "files"), CHOICES.values(), ids=CHOICES)
def test_choices(expected: tuple[str, ...], files: tuple[str, ...]) -> None:
    assert chosen(files) == (WeightFiles("safetensors", dict.fromkeys(expected, 7)) if expected else None)


@pytest.mark.parametrize(("expected", "files"), PICKLES.values(), ids=PICKLES)
def test_choices_of_pickles(expected: tuple[str, ...], files: tuple[str, ...]) -> None:
    assert chosen(files) == WeightFiles("torch", dict.fromkeys(expected, 7))


def test_an_index_of_pickles() -> None:
    found = chosen(("pytorch_model.bin.index.json", "x.bin", "y.bin"), {"weight_map": {"a": "x.bin"}})
    assert found == WeightFiles("torch", {"x.bin": 7})
    assert found.n_bytes == 7


@pytest.mark.parametrize("weight_map", [None, {}, [], {"a": 1}])
def test_an_index_that_is_none(weight_map: object) -> None:
    with pytest.raises(RequestError, match=r"model.safetensors.index.json: weight_map: expected") as refusal:
        chosen(("model.safetensors.index.json",), {"weight_map": weight_map})
    assert refusal.value.kind == "bad_index"


def test_missing_shards() -> None:
    with pytest.raises(RequestError, match=rf"index.json names 2 files: {SHARDS[1]} is not there$") as refusal:
        chosen(("model.safetensors.index.json", SHARDS[0]))
    assert refusal.value.kind == "missing_weights"
    with pytest.raises(RequestError, match=rf"^{SHARDS[1]} is of 2 files: {SHARDS[0]} is not there$"):
        chosen((SHARDS[1],))
    with pytest.raises(RequestError, match=r"m-1-of-4.safetensors is of 4 files: m-2-of-4.safetensors is not there and 1 more"):
        chosen(("m-1-of-4.safetensors", "m-4-of-4.safetensors"))
    with pytest.raises(RequestError, match=r"is of 1 files: one is not there"):
        chosen(("m-1-of-1.safetensors", "m-2-of-1.safetensors"))


def test_a_tensor_in_two_files() -> None:
    layout = {"a": ("U8", (2,))}
    with pytest.raises(RequestError, match=r"tensor 'a' is in 0.safetensors and again in 1.safetensors"):
        read(llama(), layout, layout)


def test_pickles_are_known_by_their_sizes() -> None:
    found = with_weights(llama(), WeightFiles("torch", {"a.bin": 5, "b.bin": 6}), lambda name: InMemory(b""))
    assert found == with_sizes(llama(), WeightFiles("torch", {"a.bin": 5, "b.bin": 6}))
    assert found.checkpoint is not None
    assert (found.checkpoint.format, found.checkpoint.basis, found.checkpoint.n_files, found.checkpoint.n_bytes) == (
        "torch",
        "file sizes",
        2,
        11,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    return tmp_path


def test_a_model_directory(folder: Path) -> None:
    assert load_model(str(folder)).checkpoint is None
    layout = layout_of(llama())
    halves = dict(list(layout.items())[:5]), dict(list(layout.items())[5:])
    for shard, half in zip(SHARDS, halves, strict=True):
        (folder / shard).write_bytes(whole(half))
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {name: SHARDS[name not in halves[0]] for name in layout}})
    )
    found = load_model(str(folder))
    assert found.checkpoint is not None
    assert (found.source, found.exact, found.checkpoint.n_files, found.checkpoint.n_bytes) == ("dir", True, 2, total(layout))
    assert load_model(str(folder / "config.json")).checkpoint is None


def test_broken_files_in_a_directory_are_named(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(whole(layout_of(llama()))[:-1])
    with pytest.raises(RequestError) as refusal:
        load_model(str(folder))
    assert refusal.value.message.startswith(f"{weights}: cut off: ")
    weights.write_bytes(framed({"a": 1}))
    with pytest.raises(RequestError) as refusal:
        load_model(str(folder))
    assert refusal.value.message.startswith(f"{weights}: tensor 'a': expected")


def test_pickles_in_a_directory(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(bytes(100))
    found = load_model(str(folder)).checkpoint
    assert found is not None
    assert (found.format, found.n_bytes) == ("torch", 100)


REAL = {
    "Qwen/Qwen2.5-7B-Instruct-AWQ": (5_570_747_392, 5_570_747_392, True),
    "openai/gpt-oss-20b": (13_761_264_768, 13_761_264_768, True),
    "Qwen/Qwen3-1.7B": (4_063_479_808, 3_441_149_952, True),
    "Qwen/Qwen3-8B-FP8": (9_436_551_168, 9_436_551_168, False),
    "openai-community/gpt2": (548_090_880, 497_759_232, True),
}


@pytest.mark.parametrize(("repo", "facts"), REAL.items(), ids=REAL)
def test_real_repositories(shared: Path, repo: str, facts: tuple[int, int, bool]) -> None:
    """Bytes in the files, those of the model, and whether the arithmetic from the config says the same."""
    folder = shared / "hub" / "configs" / repo
    virtual = json.loads((folder / ".fakehub.json").read_text())["virtual"]
    files = {name: claimed(file["tensors"], name) for name, file in virtual.items()}
    listing = {name: file.size for name, file in files.items()} | {path.name: path.stat().st_size for path in folder.glob("*.json")}
    files_chosen = choose(listing, lambda name: json.loads((folder / name).read_text()))
    assert files_chosen is not None
    spec = build(json.loads((folder / "config.json").read_text()), where=repo)
    found = with_weights(spec, files_chosen, files.__getitem__)
    assert found.checkpoint is not None
    assert (found.checkpoint.n_bytes, found.checkpoint.bytes_in("model"), found.exact) == facts
    assert told(found) == []
