"""A command made from settings gives the same settings back."""

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

import kvplan
from kvplan.core.device import Node, budget_node
from kvplan.core.engine import Parsed
from kvplan.core.units import GIB
from kvplan.core.workload import Workload
from kvplan.engines.vllm.command import parse
from kvplan.engines.vllm.resolve import resolve
from kvplan.engines.vllm.spelled import command
from kvplan.engines.vllm.versions import VERSIONS
from kvplan.hardware import catalog

MODELS = {
    name: kvplan.load_model(name)
    for name in ("llama-2-7b", "gemma-3-1b", "mixtral-8x7b", "granite-4.0-h-tiny", "deepseek-v2-lite", "whisper-large-v3")
}
NODES = [
    Node(None, None, ()),
    budget_node(24 * GIB),
    *(catalog.node(name, n_gpus=n) for name, n in (("h100-sxm", 4), ("b200", 1), ("t4", 2))),
]
LOAD = Workload(4096, 1, 4095)
NEW = ("0.22.1", "0.27.0", "0.33.0")
SPECULATION = (
    '{"method":"mtp","num_speculative_tokens":2}',
    '{"model":"x/eagle3-y","num_speculative_tokens":3,"draft_tensor_parallel_size":1}',
)


def pairs(name: str, values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[str, ...]]:
    return values.map(lambda value: (f"--{name}", str(value)))


def switches(*names: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.sampled_from([(f"--{sign}{name}",) for name in names for sign in ("", "no-")])


FLAGS = st.one_of(
    pairs("max-model-len", st.sampled_from(["8k", "4096", "-1"])),
    pairs("max-num-seqs", st.integers(1, 3000)),
    pairs("max-num-batched-tokens", st.integers(1, 2**16)),
    pairs("gpu-memory-utilization", st.floats(0.01, 1.0)),
    pairs("kv-cache-dtype", st.sampled_from(["auto", "fp8", "fp8_e5m2"])),
    pairs("dtype", st.sampled_from(["auto", "half", "float32"])),
    pairs("block-size", st.sampled_from([16, 32, 64])),
    pairs("kv-cache-memory-bytes", st.integers(0, 2**40)),
    pairs("num-gpu-blocks-override", st.integers(1, 10**6)),
    pairs("tensor-parallel-size", st.sampled_from([1, 2, 4])),
    pairs("pipeline-parallel-size", st.sampled_from([1, 2])),
    pairs("data-parallel-size", st.sampled_from([1, 2])),
    pairs("decode-context-parallel-size", st.sampled_from([1, 2])),
    pairs("cpu-offload-gb", st.floats(0.0, 1000.0)),
    pairs("swap-space", st.integers(0, 16)),
    pairs("kv-offloading-size", st.integers(0, 1000)),
    pairs("max-cudagraph-capture-size", st.integers(1, 1024)),
    pairs("performance-mode", st.sampled_from(["throughput", "interactivity"])),
    pairs("speculative-config", st.sampled_from(SPECULATION)),
    pairs("limit-mm-per-prompt", st.sampled_from(['{"image":2,"video":0}'])),
    pairs("mamba-ssm-cache-dtype", st.just("float32")),
    pairs("mamba-block-size", st.just(256)),
    pairs("mamba-cache-mode", st.sampled_from(["align", "all"])),
    pairs("attention-backend", st.just("FLASHINFER")),
    pairs("optimization-level", st.sampled_from([0, 2])),
    st.lists(st.integers(1, 600), min_size=1, max_size=5).map(lambda sizes: ("--cudagraph-capture-sizes", *map(str, sizes))),
    st.sampled_from([("--enable-lora", "--max-loras", "2", "--max-lora-rank", "64", "--fully-sharded-loras"), ("--enable-lora",)]),
    switches("enable-prefix-caching", "enable-chunked-prefill", "async-scheduling", "disable-hybrid-kv-cache-manager", "enforce-eager"),
    switches("disable-sliding-window", "skip-mm-profiling", "language-model-only", "enable-sleep-mode", "enable-expert-parallel"),
)
VARIABLES = st.sampled_from(
    [
        *("VLLM_USE_V1=0", "VLLM_USE_V1=1", "VLLM_USE_V2_MODEL_RUNNER=0", "VLLM_USE_V2_MODEL_RUNNER=1", "VLLM_PP_LAYER_PARTITION=10,14"),
        *("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=1", "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"),
    ]
)
LINES = st.builds(
    lambda variables, flags: (*variables, "vllm", "serve", "m", *(word for flag in flags for word in flag)),
    st.lists(VARIABLES, max_size=2),
    st.lists(FLAGS, max_size=6),
)


@limits(max_examples=200)
@given(LINES, st.sampled_from(sorted(MODELS)), st.sampled_from(NODES), st.sampled_from(VERSIONS))
def test_the_command_of_settings_gives_them_back(line: tuple[str, ...], name: str, node: Node, version: str) -> None:
    model = MODELS[name]
    found = resolve(parse(line, {}, version), LOAD, model, node, version)
    assert resolve(parse(command(found), {}, version), Workload(1, 1, 1), model, node, version) == found


@pytest.mark.parametrize("version", NEW)
@pytest.mark.parametrize("name", MODELS)
def test_so_does_an_offline_call(name: str, version: str) -> None:
    model, node = MODELS[name], catalog.node("h100-sxm", n_gpus=2)
    found = resolve(parse(["LLM(model='m', max_model_len=2048, seed=1)"], {}, version), LOAD, model, node, version)
    assert found.usage == "offline"
    assert resolve(parse(command(found), {}, version), Workload(1, 1, 1), model, node, version) == found


@given(st.sampled_from(sorted(MODELS)), st.sampled_from(NODES), st.sampled_from(VERSIONS))
def test_so_do_settings_without_a_command(name: str, node: Node, version: str) -> None:
    model = MODELS[name]
    found = resolve(Parsed("vllm", version, None), LOAD, model, node, version)
    assert found.max_model_len == LOAD.ctx_tokens
    assert resolve(parse(command(found), {}, version), Workload(1, 1, 1), model, node, version) == found


OLD = (
    "VLLM_USE_V1=0 VLLM_PP_LAYER_PARTITION=16,16 VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve m -tp 2 -pp 2 -dp 2 -ep --dtype half "
    "--max-model-len 8k --kv-cache-dtype fp8 --block-size 32 --num-gpu-blocks-override 9 --gpu-memory-utilization 0.5 "
    "--quantization fp8 --enable-lora --fully-sharded-loras --disable-hybrid-kv-cache-manager --disable-sliding-window "
    "--enable-sleep-mode --swap-space 1 --cpu-offload-gb 2 --limit-mm-per-prompt image=1 --enforce-eager"
)
RECENT = (
    "VLLM_USE_V2_MODEL_RUNNER=0 VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 vllm serve m -dcp 2 -pcp 2 --max-model-len -1 "
    "--no-async-scheduling --cudagraph-capture-sizes 3 5 --kv-cache-memory-bytes 9 --kv-offloading-size 3 --skip-mm-profiling "
    "--language-model-only --mamba-block-size 256 --attention-backend FLASHINFER --speculative-config "
    '{"method":"eagle3","model":"x","num_speculative_tokens":2,"draft_tensor_parallel_size":4}'
)


@pytest.mark.parametrize(("line", "version"), [(OLD, "0.9.2"), (RECENT, "0.28.0"), ("vllm serve m -O0", "0.33.0")])
def test_every_setting_can_be_said(line: str, version: str) -> None:
    model, node = MODELS["granite-4.0-h-tiny"], NODES[0]
    found = resolve(parse(line.split(), {}, version), LOAD, model, node, version)
    assert resolve(parse(command(found), {}, version), Workload(1, 1, 1), model, node, version) == found
    assert not parse(command(found), {}, version).unknown
