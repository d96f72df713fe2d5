"""What every engine promises at the seam, and what the engines to come will have to answer through it."""

import importlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvplan
from kvplan import _discover
from kvplan.core.device import Node, budget_node
from kvplan.core.engine import Deployment, Engine, Parsed
from kvplan.core.ledger import Interval, total
from kvplan.core.units import GIB
from kvplan.core.workload import Workload
from kvplan.estimator import Options, answer

ENGINES: list[Engine[Any]] = [
    importlib.import_module(f"{module.__name__}.engine").ENGINE for module in _discover.modules("kvplan.engines").values()
]
MODELS = {
    name: kvplan.load_model(name)
    for name in ("llama-2-7b", "gemma-3-1b", "mixtral-8x7b", "granite-4.0-h-tiny", "deepseek-v2-lite", "whisper-large-v3")
}
LOADS = st.builds(
    lambda ctx, batch, prompt: Workload(ctx, batch, min(ctx, prompt)), st.integers(1, 2**17), st.integers(1, 64), st.integers(1, 2**17)
)
POOL = "kv cache pool"
NODES = st.sampled_from([Node(None, None, ()), budget_node(24 * GIB)])


def deployed(engine: Engine[Any], model: str, node: Node) -> Deployment:
    load = Workload(4096, 1, 4095)
    settings = engine.resolve(Parsed(engine.name, None, None), load, MODELS[model], node, engine.versions[-1])
    return engine.deploy(MODELS[model], settings, node)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@given(st.sampled_from(sorted(MODELS)), NODES, LOADS)
def test_what_is_needed_is_the_sum_of_the_entries(engine: Engine[Any], model: str, node: Node, load: Workload) -> None:
    deployment = deployed(engine, model, node)
    for place in {entry.place for entry in deployment.entries(load)}:
        here = [entry for entry in deployment.entries(load) if entry.place == place]
        if deployment.usable_bytes(place) is not None:  # an engine that reserves a pool: the workload needs a part of it
            beside = total(entry.size for entry in here if entry.name != POOL)
            taken = Interval(*(need - rest for need, rest in zip(deployment.need_bytes(place, load), beside, strict=True)))
            assert 0 < taken.low <= taken.best == deployment.kv(load).reserved_bytes <= taken.high
        else:
            assert deployment.need_bytes(place, load) == total(entry.size for entry in here)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@given(st.sampled_from(sorted(MODELS)), NODES, LOADS)
def test_more_context_or_batch_never_costs_less(engine: Engine[Any], model: str, node: Node, load: Workload) -> None:
    deployment = deployed(engine, model, node)
    need = deployment.need_bytes("gpu0", load)
    longer = load._replace(ctx_tokens=load.ctx_tokens + 1, prompt_tokens=load.prompt_tokens + 1)
    for more in (longer, load._replace(ctx_tokens=load.ctx_tokens + 1), load._replace(batch=load.batch + 1)):
        assert all(a <= b for a, b in zip(need, deployment.need_bytes("gpu0", more), strict=True))


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@given(st.sampled_from(sorted(MODELS)), NODES, LOADS)
def test_bounds_hold_the_best_guess_and_exact_entries_have_none(engine: Engine[Any], model: str, node: Node, load: Workload) -> None:
    for entry in deployed(engine, model, node).entries(load):
        assert 0 <= entry.size.low <= entry.size.best <= entry.size.high
        assert entry.basis != "exact" or entry.size.low == entry.size.high
        assert entry.source


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_command_gives_its_settings_back(engine: Engine[Any], model: str) -> None:
    node, load, version = Node(None, None, ()), Workload(4096, 1, 4095), engine.versions[-1]
    settings = engine.resolve(Parsed(engine.name, None, None), load, MODELS[model], node, version)
    again = engine.parse(engine.command(settings), {}, version)
    assert engine.resolve(again, load, MODELS[model], node, version) == settings


VLLM = ("vllm", "serve", "llama-2-7b", "--max-model-len", "4096", "--kv-cache-memory-bytes", str(40 * GIB))


def test_vllm_says_its_blocks_tokens_and_line() -> None:
    # vLLM 0.33.0's own planning code for Llama-2-7B on an H100, 40 GiB of cache, max_model_len 4096
    found = answer(Options(command=VLLM, engine="vllm@0.33.0", gpu="h100-sxm"))
    assert found.capacity is not None
    assert (found.capacity.block_tokens, found.capacity.bytes_per_block, found.capacity.n_blocks) == (16, 8_388_608, 5120)
    assert found.capacity.kv_tokens is not None
    assert found.capacity.kv_tokens.best == 81_920
    assert found.capacity.max_concurrency is not None
    assert found.capacity.max_concurrency[1] == 20.0
    assert found.predicted_log == ("GPU KV cache size: 81,920 tokens, Maximum concurrency for 4,096 tokens per request: 20.00x",)


def test_vllm_refuses_in_its_own_words() -> None:
    # vLLM 0.33.0: the same with room for 1000 blocks of 2 MiB less than one request needs
    command = (*VLLM[:-1], str(GIB))
    (refusal,) = answer(Options(command=command, engine="vllm@0.33.0", gpu="h100-sxm")).refusals
    assert refusal.at == "kv_check"
    assert refusal.text.startswith("To serve at least one request with the model's max seq len (4096)")


def test_llama_cpp_rounds_contexts_up() -> None:
    # llama.cpp b11434: -c 4096 -np 3 gives n_ctx 4608 and n_ctx_seq 1536; 32 layers · 2 · 4096 · 2 B · 1536 · 3
    command = ("llama-server", "-m", "llama-2-7b", "-c", "4096", "-np", "3", "-ngl", "0", "--fit", "off")
    found = answer(Options(command=command, engine="llama.cpp@b11434"))
    assert (found.settings["n_ctx"], found.settings["n_ctx_seq"]) == (4608, 1536)
    assert sum(entry.size.best for entry in found.entries if entry.term == "kv_cache" and entry.place == "host") == 2_415_919_104


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@given(st.sampled_from(sorted(MODELS)), NODES, LOADS, LOADS)
def test_settings_follow_no_more_of_a_workload_than_the_engine_says(
    engine: Engine[Any], model: str, node: Node, load: Workload, other: Workload
) -> None:
    followed = other._replace(**{name: getattr(load, name) for name in engine.follows})
    one, two = (engine.resolve(Parsed(engine.name, None, None), it, MODELS[model], node, engine.versions[-1]) for it in (load, followed))
    assert one == two
