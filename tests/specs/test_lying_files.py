"""Files that are not what the config beside them says: always a word about it, never a crash."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kvplan import KvplanError, load_model
from kvplan.specs.safetensors import MAX_NAME_CHARS, read_header
from kvplan.specs.weight_files import WeightFiles, with_sizes
from tests.specs.test_holdings import LLAMA, llama
from tests.specs.test_reconciled import layout_of, read, told
from tests.weights import claimed, whole


def test_layers_behind_the_last() -> None:
    found = read(llama(), layout_of(llama(num_hidden_layers=5)))
    assert (found.exact, told(found)) == (
        True,
        ["KV018: the files go on to layer 4, the config has 2 layers: those behind are not counted"],
    )


@pytest.mark.parametrize("name", ["model.vision_tower.layers.30.mlp.fc1.weight", "model.mtp.layers.9.mlp.up_proj.weight"])
def test_layers_of_something_else_may_go_on(name: str) -> None:
    found = read(llama(), layout_of(llama()) | {name: ("BF16", (4, 4))})
    assert told(found) == []


@pytest.mark.parametrize("elements", ["I8", "F8_E4M3"])
def test_packed_elements_without_a_quantization(elements: str) -> None:
    found = read(llama(), {name: (elements, shape) for name, (_, shape) in layout_of(llama()).items()})
    (said,) = told(found)
    assert said.endswith("the config names no quantization: counted in bfloat16, as they are loaded without one")


@pytest.mark.parametrize(
    ("share", "warned"), [(1, False), (2, False), (4, False), (1.1, False), (0, True), (0.5, True), (1.4, True), (9, True)]
)
def test_sizes_of_pickles(share: float, warned: bool) -> None:  # noqa: FBT001
    n_bytes = int(llama().weight_bytes * share)
    found = with_sizes(llama(), WeightFiles("torch", {"pytorch_model.bin": n_bytes}))
    assert [said.startswith(f"KV018: the files take {n_bytes:,} B, ") for said in told(found)] == [True] * warned
    assert found.exact is not warned


def test_sizes_say_nothing_of_a_model_that_is_not_all_counted() -> None:
    found = with_sizes(llama()._replace(exact=False), WeightFiles("torch", {"pytorch_model.bin": 9}))
    assert told(found) == []


def test_sizes_of_quantized_pickles() -> None:
    spec = llama()._replace(quantization="gptq")
    assert told(with_sizes(spec, WeightFiles("torch", {"pytorch_model.bin": spec.weight_bytes}))) == []
    assert told(with_sizes(spec, WeightFiles("torch", {"pytorch_model.bin": spec.weight_bytes * 2}))) != []


def test_names_that_are_too_long() -> None:
    with pytest.raises(KvplanError, match=r"has a name of 400,000 characters; expected at most 256"):
        read_header(claimed({"a." * 200_000: ("U8", (1,))}))
    longest = f"layers.{'9' * (MAX_NAME_CHARS - 9)}.w"
    assert told(read(llama(), layout_of(llama()) | {longest: ("BF16", (1,))}))


@pytest.mark.parametrize("put", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path.name), lambda path: path.symlink_to("nothing")])
@pytest.mark.parametrize("name", ["model.safetensors", "model.safetensors.index.json"])
def test_weights_that_are_there_by_name_alone(tmp_path: Path, put: Callable[[Path], object], name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    put(tmp_path / name)
    with pytest.raises(KvplanError, match=f"{name}: expected a file, found ") as caught:
        load_model(str(tmp_path))
    assert caught.value.exit_code == 2


def test_more_shards_than_may_be_open(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    for i in range(1, 1101):
        (tmp_path / f"m-{i:05d}-of-01100.safetensors").write_bytes(whole({f"w{i}": ("U8", (1,))}))
    checkpoint = load_model(str(tmp_path)).checkpoint
    assert checkpoint is not None
    assert (checkpoint.n_files, checkpoint.n_bytes) == (1100, 1100)
