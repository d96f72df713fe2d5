"""Headers of real sizes: every model of the folder beside a checkout, written as a sparse file and read again."""

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from kvplan.core.checkpoint import Tensor
from kvplan.core.units import ceil_to
from kvplan.specs import load_model
from kvplan.specs.gguf.header import read_header
from kvplan.specs.sources import LocalFile
from tests.conftest import SHARED

MODELS: dict[str, dict[str, object]] = (
    json.loads(gzip.decompress((SHARED / "gguf/models.json.gz").read_bytes())) if (SHARED / "gguf/models.json.gz").is_file() else {}
)


@pytest.fixture
def make(shared: Path) -> ModuleType:
    """The folder's own writer."""
    found = importlib.util.spec_from_file_location("make", shared / "gguf/make.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize("model", MODELS or ["none"])
def test_parameters_and_bytes(model: str, make: ModuleType, tmp_path: Path) -> None:
    facts, path = MODELS[model], tmp_path / "model.gguf"
    tensors = facts["tensors"]
    assert isinstance(tensors, list)
    make.mk_full(str(path), facts["kv"], tensors)
    spec = load_model(str(path))
    path.unlink()  # a sparse file all the same
    found = spec.checkpoint
    assert found is not None
    assert [(tensor.name, list(tensor.shape), tensor.dtype) for tensor in found.tensors] == [
        (name, shape, LONG.get(dtype, dtype.lower())) for name, shape, dtype in tensors
    ]
    assert spec.n_params == sum(tensor.n_elems for tensor in found.tensors) == facts["n_params"]
    assert spec.weight_bytes == found.n_bytes
    assert sum(ceil_to(tensor.n_bytes, 32) for tensor in found.tensors) == facts["tensor_bytes_q4_K"]  # as they lie in the file


LONG = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


def test_the_reference_reader_agrees(tmp_path: Path) -> None:
    """The package ``gguf`` (numpy, requests) is not needed to develop; where it is installed, it reads the same file."""
    gguf = pytest.importorskip("gguf", reason="compares with the package gguf where it is installed")
    numpy = pytest.importorskip("numpy")
    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_head_count_kv([1, 2])
    writer.add_token_list(["<s>", "▁the", "</s>"])
    writer.add_token_scores([0.0, -1.0, -2.0])
    writer.add_chat_template("{{ messages }}" * 1000)
    writer.add_custom_alignment(64)
    writer.add_tensor("token_embd.weight", numpy.zeros((3, 144), numpy.uint8), raw_dtype=gguf.GGMLQuantizationType.Q4_K)
    writer.add_tensor("output_norm.weight", numpy.zeros(5, numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    reader = gguf.GGUFReader(path)
    with LocalFile(path) as source:
        found = read_header(source)
    theirs = [
        Tensor(t.name, LONG.get(t.tensor_type.name.lower(), t.tensor_type.name.lower()), tuple(map(int, t.shape)), int(t.n_bytes))
        for t in reader.tensors
    ]
    assert list(found.tensors) == theirs
    assert (found.n_vocab, found.alignment, found.data_offset) == (3, reader.alignment, reader.data_offset)
    assert list(found.values) == [name for name in reader.fields if not name.startswith("GGUF.")]
    assert found.values["llama.attention.head_count_kv"] == (1, 2)


def test_every_type_of_the_reference() -> None:
    """Blocks of every element type as the package ``gguf`` has them; it says 40 bytes for Q8_1, ggml-common.h says 36."""
    gguf = pytest.importorskip("gguf", reason="compares with the package gguf where it is installed")
    from kvplan.core.dtypes import DTYPES
    from kvplan.specs.gguf.types import TYPES

    theirs = {int(kind): size for kind, size in gguf.GGML_QUANT_SIZES.items() if kind.name != "Q8_1"}
    ours = {number: DTYPES[name][1:] for number, name in TYPES.items()}
    assert {number: ours.get(number) for number in theirs} == theirs
    assert {kind.name.lower() for kind in gguf.GGMLQuantizationType} >= {name for name in TYPES.values() if name[0] in "qtm"} - {"q2_0"}
