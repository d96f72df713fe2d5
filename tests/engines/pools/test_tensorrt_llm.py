"""TensorRT-LLM: blocks of a public log, its file of options, what it refuses."""

import shlex

import pytest

import kvplan
from kvplan.core.device import Node
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.core.token_pool import Part, Pool
from kvplan.core.units import ceil_div
from kvplan.core.workload import Workload
from kvplan.engines.tensorrt_llm.engine import ENGINE
from kvplan.engines.tensorrt_llm.plan import plan
from kvplan.engines.tensorrt_llm.rules import rules_for
from kvplan.engines.tensorrt_llm.settings import Settings
from tests.engines.pools.asking import GIB, HYBRID, LATENT, LLAMA, WINDOWED, asked, card, large, rules

LOAD = Workload(4096, 1, 4095)
RUN = "trtllm-serve llama-3.1-8b"


def settled(flags: str, model: ModelSpec = LLAMA, node: Node | None = None) -> Settings:
    parsed = ENGINE.parse(("trtllm-serve", "serve", "m", *shlex.split(flags)), {}, "1.1.0")
    return ENGINE.resolve(parsed, LOAD, model, card("h100-sxm") if node is None else node, "1.1.0")


def test_blocks_of_a_public_log() -> None:
    # triton-inference-server/tutorials#150: TinyLlama-1.1B (22 layers, 4 KV heads of 64, fp16): 116,617 blocks of 32 tokens, 78.30 GiB
    pool = Pool((Part(22 * 2 * 4 * 64 * 2),), 32, rounds_up=True)
    assert pool.n_bytes(116_617 * 32) / GIB == pytest.approx(78.30, abs=0.01)
    assert pool.tokens_in((116_616 * 32 + 1) * pool.token_bytes) == 116_617 * 32


def test_a_fraction_of_what_is_left() -> None:
    node = card("h100-sxm")
    (rank,) = plan(LLAMA, settled("--kv_cache_free_gpu_memory_fraction 0.5"), node).ranks
    left = node.gpus[0].cuda_bytes - sum(entry.size.best for entry in rank.beside)
    assert rank.budget is not None
    assert rank.budget.best == round(left * 0.5)
    found = asked(f"{RUN} --free_gpu_memory_fraction 0.5")
    assert found.capacity is not None
    assert found.capacity.n_blocks == ceil_div(rank.budget.best // 131_072, 32)
    assert found.predicted_log[0].startswith("Allocated ")


def test_files_of_options() -> None:
    content = {
        "tensor_parallel_size": 4,
        "kv_cache_config": {"dtype": "fp8", "free_gpu_memory_fraction": 0.7, "max_tokens": 4096, "event": {"x": 1}},
        "cuda_graph_config": {"max_batch_size": 16, "enable_padding": True},
        "moe_config": {"backend": "TRTLLM"},
        "lora_config": {"a": 1},
        "enable_attention_dp": True,
        "print_iter_log": False,
    }
    command = ("trtllm-serve", "m", "--tp_size", "2", "--extra_llm_api_options", "o.yaml")
    assert ENGINE.config_file(command) == "o.yaml"
    parsed = ENGINE.parse(ENGINE.with_config(command, content), {}, "1.1.0")
    found = ENGINE.resolve(parsed, LOAD, LLAMA, card("h100-sxm", 4), "1.1.0")
    assert (found.tp, found.kv_cache_dtype, found.max_tokens, found.graph_batches) == (4, "float8_e4m3fn", 4096, 16)
    assert (found.free_gpu_memory_fraction, found.attention_dp) == (0.7, True)
    assert parsed.unknown == ()
    off = ENGINE.parse(ENGINE.with_config(command, {"cuda_graph_config": None}), {}, "1.1.0")
    assert ENGINE.resolve(off, LOAD, LLAMA, card("h100-sxm", 4), "1.1.0").graph_batches == 0


def test_where_it_starts() -> None:
    worker = ENGINE.parse(("python3", "-m", "dynamo.trtllm", "--model-path", "m", "--max-seq-len", "512"), {}, "")
    assert (worker.model, worker.version) == ("m", "1.2.1")
    image = ENGINE.parse(("docker", "run", "nvcr.io/nvidia/tensorrt-llm/release:1.1.0rc3", "trtllm-serve", "m"), {}, "")
    assert (image.model, image.version) == ("m", "1.1.0rc3")
    dynamo = ENGINE.parse(("docker", "run", "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.5.0", "trtllm-serve", "m"), {}, "")
    assert dynamo.version == "1.2.1"
    assert ENGINE.parse(("docker", "run", "nvcr.io/nvidia/tensorrt-llm/release:1.2.0", "m"), {}, "").model == "m"
    assert ENGINE.parse(("tensorrt-llm",), {}, "").flags == ()


def test_states_for_each_sequence_that_may_run() -> None:
    (rank,) = plan(HYBRID, settled("--max_batch_size 64", HYBRID), large()).ranks
    assert rank.pool.slots_in(0) == 64
    whole, own = (plan(LATENT, settled(flags, LATENT), large(4)).ranks[0] for flags in ("--tp_size 4", "--tp_size 4 --enable_attention_dp"))
    assert whole.pool.token_bytes == own.pool.token_bytes == 27 * 576 * 2
    assert whole.beside[0].size.best < own.beside[0].size.best
    assert plan(LLAMA, settled("--tp_size 4 --enable_attention_dp"), large(4)).ranks[0].pool.token_bytes == 131_072


def test_types() -> None:
    assert settled("--kv_cache_dtype nvfp4").kv_cache_dtype == "float4_e2m1"
    assert settled("--kv_cache_dtype fp8_e4m3").kv_cache_dtype == "float8_e4m3fn"
    assert settled("", LLAMA._replace(kv_dtype="fp8")).kv_cache_dtype == "float8_e4m3fn"
    assert settled("", LLAMA._replace(stored_dtype="float32")).dtype == "bfloat16"
    assert settled("--dtype float16").dtype == "float16"


def test_what_is_said_to_be_left_out() -> None:
    found = plan(WINDOWED, settled("--backend tensorrt", WINDOWED), large())
    assert [one.id for one in found.not_modeled] == ["workspaces", "engine", "windows"]
    assert asked(f"{RUN} --pp_size 2 --cuda_graph_max_batch_size 0", gpu="l40s:2").performance is not None
    assert kvplan.estimate("llama-3.1-70b", engine="tensorrt-llm", gpu="h100-sxm", gpus=4).settings["tp"] == 4


@pytest.mark.parametrize(
    ("command", "gpu", "rule"),
    [
        ("trtllm-serve llama-3.1-8b --max_num_tokens 131072", "l4", "KV350"),
        ("trtllm-serve qwen2.5-7b --tp_size 8", "h100-sxm:8", "KV352"),
        (f"{RUN} --tp_size 2", "h100-sxm", "KV353"),
        ("trtllm-serve llama-3.1-70b", "h100-sxm", "KV354"),
        (f"{RUN} --max_seq_len 131072 --kv_cache_free_gpu_memory_fraction 0.2", "h100-sxm", "KV356"),
        (f"{RUN} --cp_size 2", "h100-sxm", "KV211"),
        (f"{RUN} --max_seq_length 5", "h100-sxm", "KV210"),
    ],
)
def test_what_it_says_no_to(command: str, gpu: str, rule: str) -> None:
    assert rule in rules(asked(command, gpu=gpu))


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--dtype fp8", "dtype=fp8: TensorRT-LLM runs in"),
        ("--kv_cache_dtype int8", "kv-cache-dtype=int8: TensorRT-LLM keeps no such cache"),
        ("--pp_size 99", "pp-size=99: the model has 32 layers"),
    ],
)
def test_values_that_it_never_takes(flags: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        settled(flags)


@pytest.mark.parametrize(
    "flags",
    [
        "--tp_size 2 --max_seq_len 8192 --max_batch_size 64 --max_num_tokens 2048 --max_beam_width 2 --kv_cache_dtype fp8",
        "--pp_size 2 --enable_attention_dp --max_tokens 65536 --tokens_per_block 64 --cuda_graph_max_batch_size 0 --backend tensorrt",
    ],
)
def test_a_command_gives_its_settings_back(flags: str) -> None:
    settings = settled(flags)
    again = ENGINE.parse(ENGINE.command(settings), {}, "1.1.0")
    assert ENGINE.resolve(again, LOAD, LLAMA, large(2), "1.1.0") == settings


def test_newer_versions() -> None:
    assert rules_for("2.0.0")[1]
    assert "KV320" in rules(asked(RUN, engine="tensorrt-llm@2.0.0"))
