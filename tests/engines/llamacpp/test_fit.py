"""What --fit counts: everything that devices hold, the projector of a server and copies of a quantized cache among it."""

import pytest

import kvplan
from kvplan.core.model import ModelSpec
from kvplan.engines.llamacpp.fit import fitted
from kvplan.engines.llamacpp.settings import Settings
from tests.engines.llamacpp.resolving import LLAMA, cards, settled

ONE = cards("rtx-4090", 1)
GEMMA = kvplan.load_model("gemma-3-27b")._replace(stored_dtype="q4_k")


def after(line: str, model: ModelSpec = LLAMA) -> Settings:
    return fitted(model, settled(f"{line} -m x", model=model, node=ONE), ONE)


def test_a_projector_takes_the_place_of_a_servers_context() -> None:
    alone, beside = after("llama-server", GEMMA), after("llama-server --mmproj m-F16.gguf", GEMMA)
    assert 4096 < beside.n_ctx < alone.n_ctx
    assert after("llama-server --mmproj m-F16.gguf --no-mmproj-offload", GEMMA).n_ctx == alone.n_ctx


def test_a_quantized_cache_leaves_room_for_its_copy() -> None:
    """Bytes of a token: of f16 32 · 2 · 2048, of q8_0 32 · 2 · 1088 and 2 · 2048 of the copy of one layer; 2 · 512 of either's mask."""
    model = LLAMA._replace(max_ctx_tokens=2**20)
    plain, quantized = after("llama-server -np 1", model).n_ctx, after("llama-server -np 1 -ctk q8_0 -ctv q8_0", model).n_ctx
    expected = (32 * 2 * 2048 + 2 * 512) / (32 * 2 * 1088 + 2 * 2048 + 2 * 512)
    assert quantized / plain == pytest.approx(expected, rel=0.01)


def test_where_all_experts_on_the_host_are_not_enough_layers_follow() -> None:
    model = kvplan.load_model("mixtral-8x7b")
    found = after("llama-server -c 1048576 -np 1", model)
    assert found.n_cpu_moe == model.n_layers
    assert 0 <= found.n_gpu_layers < model.n_layers
