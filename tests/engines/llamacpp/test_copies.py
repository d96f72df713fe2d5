"""Copies of keys and values in 16 bits, which CUDA's flash attention makes of other caches.

Bytes: 2 · cells · streams · n_head_kv · (key_len + value_len) of one layer; of latent attention keys alone.
"""

import pytest

import kvplan
from kvplan.core.device import Node
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp.deployment import Deployment
from kvplan.engines.llamacpp.fitting import capacity
from kvplan.engines.llamacpp.laid import Laid
from tests.engines.llamacpp.resolving import LATENT, LLAMA, cards, settled

ONE = cards("rtx-4090", 1)
GEMMA = kvplan.load_model("gemma-3-27b")


def copied(line: str, model: ModelSpec = LLAMA, node: Node = ONE) -> dict[str, int]:
    laid = Laid(model, settled(f"llama-server -m x {line}", model=model, node=node), node)
    return {buffer: copy.n_bytes for buffer, copy in laid.copies.items()}


@pytest.mark.parametrize(
    ("line", "n_bytes"),
    [
        ("-c 8192 -ctk q8_0 -ctv q8_0", 2 * 8192 * 8 * (128 + 128)),
        ("-c 8192 -ctk q8_0", 2 * 8192 * 8 * 128),
        ("-c 8192 -np 2 -ctk bf16 -ctv bf16", 2 * 4096 * 2 * 8 * (128 + 128)),
        ("-c 8192 -ctk f32 -ctv f32", 0),
        ("-c 8192", 0),
        ("-c 8192 -ctk q8_0 -fa off", 0),
        ("-c 8192 -ctk q8_0 -nkvo", 0),
        ("-c 8192 -ctk q8_0 -ngl 0", 0),
    ],
)
def test_one_layer_is_copied(line: str, n_bytes: int) -> None:
    assert copied(line) == ({"CUDA0": n_bytes} if n_bytes else {})


def test_of_latents_only_keys_are_copied() -> None:
    assert copied("-c 4096 -ctk q8_0 -ctv q8_0", LATENT) == {"CUDA0": 2 * 4096 * 576}


def test_the_widest_cache_of_each_device_counts() -> None:
    full = 2 * 32768 * 16 * (128 + 128)
    assert copied("-c 32768 -ctk q8_0 -ctv q8_0", GEMMA, cards("rtx-3090", 2)) == {"CUDA0": full, "CUDA1": full}


def test_metal_makes_none() -> None:
    assert copied("-c 8192 -ctk q8_0", node=Node("m3", "flag", (ONE.gpus[0]._replace(vendor="apple"),))) == {}


def test_it_is_a_line_of_the_ledger_and_grows_with_the_context() -> None:
    load = Workload(4096, 1, 4095)
    settings = settled("llama-server -m x -c 8192 -ctk q8_0 -ctv q8_0", node=ONE)
    entries = Deployment(LLAMA, settings, ONE).entries(load)
    line = next(entry for entry in entries if entry.name == "copy of keys and values")
    assert (line.term, line.place, line.size) == ("compute_buffer", "gpu0", (0, 33554432, 33554432))
    without = [entry for entry in entries if entry is not line]
    laid = Laid(LLAMA, settings, ONE)
    assert capacity(laid, entries, load) == capacity(laid, tuple(without), load)
