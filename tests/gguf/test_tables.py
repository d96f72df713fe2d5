"""The 27 models whose tensor tables and llama.cpp's own printed numbers stand beside a checkout."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kvplan.core.model import Layer, ModelSpec
from kvplan.core.units import ceil_to
from kvplan.specs.gguf.build import build
from kvplan.specs.gguf.header import Header
from tests.gguf.making import tensor

MIB = 2**20
ALIGNMENT = 32


@cache
def models(path: Path) -> dict[str, Any]:
    with gzip.open(path / "gguf" / "models.json.gz", "rt") as file:
        loaded = json.load(file)
    assert isinstance(loaded, dict)
    return loaded


def header_of(model: dict[str, Any]) -> Header:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in model["kv"].items()}
    tensors = tuple(tensor(name, tuple(shape), kind) for name, shape, kind in model["tensors"])
    return Header(3, values, tensors, model["kv"][f"{model['kv']['general.architecture']}.vocab_size"], 0, ALIGNMENT)


@cache
def spec_of(path: Path, name: str) -> ModelSpec:
    return build(header_of(models(path)[name]), name)


def test_parameters_and_bytes_are_the_tables(shared: Path) -> None:
    for name, model in models(shared).items():
        spec, tensors = spec_of(shared, name), header_of(model).tensors
        assert spec.exact, name
        assert not spec.caveats, name
        assert spec.n_params == model["n_params"], name
        assert spec.weight_bytes == sum(tensor.n_bytes for tensor in tensors), name
        # the table's sum is that of the file's data, where each tensor begins at a multiple of the alignment
        assert sum(ceil_to(tensor.n_bytes, ALIGNMENT) for tensor in tensors) == model["tensor_bytes_q4_K"], name


def records(path: Path) -> list[dict[str, Any]]:
    """Records with an unquantized cache that llama.cpp accepted."""
    with gzip.open(path / "oracles" / "llamacpp.jsonl.gz", "rt") as file:
        found = [json.loads(line) for line in file]
    return [
        record
        for record in found
        if record.get("ok") and record["how"] != "real" and record["settings"]["ctk"] == record["settings"]["ctv"] == "f16"
    ]


def kv_elems(layer: Layer) -> tuple[int, int]:
    """Key and value elements per token; a latent is all key."""
    if layer.kv_source is None:
        for mixer in layer.mixers:
            if mixer.kind in ("full", "sliding"):
                return mixer.n_kv_heads * mixer.head_dim, mixer.n_kv_heads * mixer.v_head_dim
            if mixer.kind == "mla":
                return mixer.elems_per_token, 0
    return 0, 0


def caches(record: dict[str, Any], spec: ModelSpec) -> list[list[tuple[int, int]]]:
    """Elements per layer of the caches that llama.cpp prints: all that see everything, then all with a window."""
    layers = [run.layer for run in spec.mtp] if record["settings"].get("mtp") else list(spec.layers())
    split = spec.model_type != "phi3"  # llama.cpp b11434 src/models/phi3.cpp: windows are disabled there
    kinds = [
        [kv_elems(layer) for layer in layers if of is (split and any(mixer.kind == "sliding" for mixer in layer.mixers))]
        for of in (False, True)
    ]
    return [kind for kind in ([elems for elems in kind if any(elems)] for kind in kinds) if kind]


def state_elems(layer: Layer) -> int:
    return sum(getattr(mixer, "state_elems", 0) + getattr(mixer, "conv_elems", 0) for mixer in layer.mixers)


def test_keys_and_values_are_what_llamacpp_prints(shared: Path) -> None:
    """2 bytes for each element and printed cell."""
    found = records(shared)
    for record in found:
        due = caches(record, spec_of(shared, record["model"]))
        assert len(record["kv"]) == len(due), record["model"]
        for printed, layers in zip(record["kv"], due, strict=True):
            cells = 2 * printed["cells"] * printed["streams"] / MIB
            assert printed["layers"] == len(layers), record["model"]
            assert printed["k_mib"] == pytest.approx(cells * sum(k for k, _ in layers), abs=0.006), record["model"]
            # without flash attention it pads V to the widest layer
            values = max(v for kind in due for _, v in kind) * len(layers) if not record["fa_used"] else sum(v for _, v in layers)
            assert printed["v_mib"] == pytest.approx(cells * values, abs=0.006), record["model"]
    assert len(found) > 1000


def test_states_are_what_llamacpp_prints(shared: Path) -> None:
    """4 bytes for each element and sequence, and as often again for each draft token it can take back."""
    found = [record for record in records(shared) if record.get("rs")]
    for record in found:
        printed = record["rs"]
        due = 4 * sum(map(state_elems, spec_of(shared, record["model"]).layers())) * printed["cells"] * (1 + printed["rs_seq"])
        assert printed["mib"] == pytest.approx(due / MIB, abs=0.006), record["model"]
    assert len(found) > 200
