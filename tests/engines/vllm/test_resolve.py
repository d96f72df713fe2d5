"""Defaults of vLLM, as its own code sets them. Where no source is named it is vllm 0.33.0 engine/arg_utils.py and config/."""

import shlex

import pytest

import kvplan
from kvplan.core.device import Node, budget_node
from kvplan.core.engine import Flag, Parsed
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec, RopeScaling
from kvplan.core.units import GIB
from kvplan.core.workload import Workload
from kvplan.engines.vllm.command import parse
from kvplan.engines.vllm.length import Length, length
from kvplan.engines.vllm.parallel import divides
from kvplan.engines.vllm.resolve import resolve
from kvplan.engines.vllm.rules import release, rules_for
from kvplan.engines.vllm.settings import Lora, Settings, Speculative
from kvplan.hardware import catalog

LLAMA = kvplan.load_model("llama-2-7b")
HYBRID = kvplan.load_model("granite-4.0-h-tiny")
LATENT = kvplan.load_model("deepseek-v2-lite")
WHISPER = kvplan.load_model("whisper-large-v3")
MIXTRAL = kvplan.load_model("mixtral-8x7b")
GEMMA = kvplan.load_model("gemma-3-1b")
NOWHERE = Node(None, None, ())
LOAD = Workload(4096, 2, 4095)


def card(name: str, n_gpus: int = 1) -> Node:
    return catalog.node(name, n_gpus=n_gpus)


def settled(flags: str = "", version: str = "0.33.0", model: ModelSpec = LLAMA, node: Node | None = None, front: str = "") -> Settings:
    parsed = parse(shlex.split(f"{front} vllm serve m {flags}"), {}, version)
    return resolve(parsed, LOAD, model, node or card("h100-sxm"), version)


def chosen(model: ModelSpec, node: Node, *flags: Flag, version: str = "0.33.0") -> Settings:
    return resolve(Parsed("vllm", version, None, flags), LOAD, model, node, version)


@pytest.mark.parametrize(
    ("gpu", "version", "usage", "tokens", "seqs"),
    [
        ("h100-sxm", "0.33.0", "serve", 8192, 1024),
        ("h100-sxm", "0.33.0", "offline", 16384, 1024),
        ("h200", "0.19.0", "serve", 8192, 1024),
        ("b200", "0.33.0", "serve", 16384, 1024),
        ("b200", "0.26.0", "serve", 8192, 1024),
        ("a100-80", "0.33.0", "serve", 2048, 256),
        ("a100-80", "0.33.0", "offline", 8192, 256),
        ("a100-80", "0.8.5", "serve", 8192, 1024),
        ("l4", "0.33.0", "serve", 2048, 256),
        ("dgx-spark", "0.33.0", "serve", 2048, 256),
        ("dgx-spark", "0.29.0", "serve", 8192, 1024),
        ("h100-sxm", "0.7.3", "serve", 4096, 256),  # V0 without chunks: the longest sequence
    ],
)
def test_the_step_by_card_use_and_version(gpu: str, version: str, usage: str, tokens: int, seqs: int) -> None:
    found = chosen(LLAMA, card(gpu), Flag("usage", usage), version=version)
    assert (found.max_num_batched_tokens, found.max_num_seqs, found.usage) == (tokens, seqs, usage)


def test_an_unknown_card_counts_as_small_and_a_budget_by_its_size() -> None:
    assert chosen(LLAMA, NOWHERE).max_num_seqs == 256
    assert chosen(LLAMA, budget_node(80 * GIB)).max_num_seqs == 1024


@pytest.mark.parametrize(
    ("flags", "version", "tokens", "seqs"),
    [
        ("--max-num-seqs 4 --max-model-len 100", "0.33.0", 400, 4),
        ("--max-num-seqs 4 --max-model-len 100", "0.11.0", 8192, 4),
        ("--max-num-batched-tokens 64", "0.33.0", 64, 64),
        ("--max-num-batched-tokens 64", "0.9.2", 64, 1024),
        ("--performance-mode throughput", "0.33.0", 16384, 2048),
        ("--performance-mode throughput --max-num-seqs 8", "0.33.0", 16384, 8),
        ("--no-enable-chunked-prefill --max-num-batched-tokens 16", "0.33.0", 16, 16),
        ("--no-enable-chunked-prefill", "0.33.0", 8192, 1024),
    ],
)
def test_the_step_as_said(flags: str, version: str, tokens: int, seqs: int) -> None:
    found = settled(flags, version)
    assert (found.max_num_batched_tokens, found.max_num_seqs) == (tokens, seqs)


@pytest.mark.parametrize(
    ("flags", "version", "gpu", "n", "largest"),
    [
        ("", "0.33.0", "h100-sxm", 51, 512),
        ("", "0.11.0", "h100-sxm", 67, 512),  # 1, 2, 4 and every 8
        ("", "0.33.0", "b200", 83, 1024),
        ("", "0.26.0", "b200", 51, 512),
        ("--max-num-seqs 100", "0.33.0", "h100-sxm", 29, 200),  # 100 itself is off the grid
        ("--max-num-seqs 100", "0.28.0", "h100-sxm", 28, 200),
        ("--max-num-seqs 1", "0.33.0", "h100-sxm", 2, 2),
        ("--max-num-batched-tokens 60 --max-num-seqs 60", "0.33.0", "h100-sxm", 11, 60),
        ("--performance-mode interactivity", "0.33.0", "h100-sxm", 76, 512),
        ("--max-cudagraph-capture-size 16", "0.33.0", "h100-sxm", 5, 16),
        ("--compilation-config.max_cudagraph_capture_size 16", "0.33.0", "h100-sxm", 5, 16),
        ("--cudagraph-capture-sizes 1 8 99999", "0.33.0", "h100-sxm", 2, 8),
        ("--cudagraph-capture-sizes 24", "0.33.0", "h100-sxm", 1, 24),
        ("--compilation-config.cudagraph_capture_sizes+ 1,2", "0.33.0", "h100-sxm", 51, 512),  # text is no size
        ("--compilation-config '{\"cudagraph_capture_sizes\": [1, 2]}'", "0.33.0", "h100-sxm", 2, 2),
        ("--cuda-graph-sizes 24", "0.11.0", "h100-sxm", 6, 24),
        ("--cuda-graph-sizes 1 24", "0.11.0", "h100-sxm", 2, 24),
        ("", "0.7.3", "h100-sxm", 35, 256),
        ("--enforce-eager", "0.33.0", "h100-sxm", 0, None),
        ("-O0", "0.33.0", "h100-sxm", 0, None),
        ("-O.cudagraph_mode=none", "0.33.0", "h100-sxm", 0, None),
    ],
)
def test_captured_batch_sizes(flags: str, version: str, gpu: str, n: int, largest: int | None) -> None:
    found = settled(flags, version, node=card(gpu))
    assert (len(found.graph_sizes), found.graph_sizes[-1] if found.graph_sizes else None) == (n, largest)
    assert found.estimates_graphs is (release(version) >= (0, 20, 0) and n > 0)


def test_graphs_of_drafting_cover_each_width_of_a_batch() -> None:
    drafted = "--speculative-config.method mtp --speculative-config.num_speculative_tokens 2 --max-num-seqs 16"
    assert set(settled(drafted).graph_sizes) >= {3, 6, 12, 24, 48}
    assert 3 not in settled(drafted, "0.28.0").graph_sizes
    assert 1024 not in settled("--max-num-seqs 1024").graph_sizes


@pytest.mark.parametrize(
    ("version", "front", "expected"),
    [
        ("0.17.1", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=1", False),
        ("0.19.0", "", False),
        ("0.19.0", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=1", True),
        ("0.33.0", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0", False),
    ],
)
def test_whether_graphs_are_estimated(version: str, front: str, expected: bool) -> None:  # noqa: FBT001  # a row
    assert settled("", version, front=front).estimates_graphs is expected


@pytest.mark.parametrize(
    ("asked", "stored", "gpu", "version", "expected"),
    [
        (None, "float16", "h100-sxm", "0.33.0", "float16"),
        (None, "bfloat16", "h100-sxm", "0.33.0", "bfloat16"),
        (None, "bfloat16", "t4", "0.33.0", "float16"),
        (None, "float32", "h100-sxm", "0.33.0", "bfloat16"),
        (None, "float32", "h100-sxm", "0.8.5", "float16"),
        (None, "float32", "t4", "0.33.0", "float16"),
        (None, "float8_e4m3fn", None, "0.33.0", "bfloat16"),
        ("auto", "float16", "h100-sxm", "0.33.0", "float16"),
        ("half", "bfloat16", "h100-sxm", "0.33.0", "float16"),
        ("float", "bfloat16", "h100-sxm", "0.33.0", "float32"),
    ],
)
def test_the_type_that_the_model_runs_in(asked: str | None, stored: str, gpu: str | None, version: str, expected: str) -> None:
    flags = () if asked is None else (Flag("dtype", asked),)
    node = NOWHERE if gpu is None else card(gpu)
    assert chosen(LLAMA._replace(stored_dtype=stored), node, *flags, version=version).dtype == expected


def test_types_in_which_nothing_runs_are_refused() -> None:
    with pytest.raises(RequestError, match="vLLM runs in bfloat16, float16, float32") as refused:
        chosen(LLAMA, NOWHERE, Flag("dtype", "fp8"))
    assert "--quantization fp8" in refused.value.hint
    with pytest.raises(RequestError, match="dtype=int4"):
        chosen(LLAMA, NOWHERE, Flag("dtype", "int4"))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("fp8", "fp8"), ("float8_e4m3fn", "fp8_e4m3"), ("bf16", "bfloat16"), ("auto", "auto"), ("float8_e5m2", "fp8_e5m2")],
)
def test_the_type_of_the_cache_as_vllm_calls_it(asked: str, expected: str) -> None:
    assert chosen(LLAMA, NOWHERE, Flag("kv-cache-dtype", asked)).kv_cache_dtype == expected


@pytest.mark.parametrize("asked", ["q8_0/f16", "int3", "q8_0"])
def test_types_of_the_cache_that_vllm_lacks_are_refused(asked: str) -> None:
    with pytest.raises(RequestError, match="vLLM keeps no such cache"):
        chosen(LLAMA, NOWHERE, Flag("kv-cache-dtype", asked))


@pytest.mark.parametrize(
    ("model", "flags", "version", "caching", "mode", "chunked"),
    [
        (LLAMA, "", "0.33.0", True, "none", True),
        (LLAMA, "--no-enable-prefix-caching", "0.33.0", False, "none", True),
        (LLAMA, "--no-enable-chunked-prefill", "0.33.0", True, "none", False),
        (HYBRID, "", "0.33.0", True, "align", True),
        (HYBRID, "", "0.26.0", True, "all", True),
        (HYBRID, "", "0.25.1", False, "none", True),
        (HYBRID, "--enable-prefix-caching", "0.19.0", True, "all", True),
        (HYBRID, "--enable-prefix-caching --mamba-cache-mode align", "0.19.0", True, "align", True),
        (HYBRID, "--enable-prefix-caching", "0.13.0", True, "all", True),
        (HYBRID, "--enable-prefix-caching", "0.11.0", False, "none", True),
        (HYBRID, "--no-enable-prefix-caching", "0.33.0", False, "none", True),
        (WHISPER, "", "0.33.0", False, "none", False),
        (LLAMA, "", "0.7.3", False, "none", False),
        (LLAMA, "--max-model-len 40k", "0.7.3", False, "none", True),
        (LATENT, "--max-model-len 40k", "0.7.3", False, "none", False),
        (LLAMA, "--max-model-len 40k --enable-lora", "0.7.3", False, "none", False),
        (LLAMA, "--enable-chunked-prefill --enable-prefix-caching", "0.7.3", True, "none", True),
    ],
)  # fmt: skip
def test_prefixes_and_chunks(model: ModelSpec, flags: str, version: str, *, caching: bool, mode: str, chunked: bool) -> None:
    found = settled(flags, version, model)
    assert (found.prefix_caching, found.mamba_cache_mode, found.chunked_prefill) == (caching, mode, chunked)


@pytest.mark.parametrize(
    ("model", "flags", "version", "front", "v2", "overlaps"),
    [
        (LLAMA, "", "0.33.0", "", True, True),
        (LLAMA, "", "0.33.0", "VLLM_USE_V2_MODEL_RUNNER=0", False, True),
        (LLAMA, "", "0.22.1", "", False, True),
        (LLAMA, "", "0.24.0", "", True, True),
        (MIXTRAL, "", "0.24.0", "", False, True),
        (HYBRID, "", "0.28.0", "", False, True),
        (HYBRID, "", "0.29.0", "", True, True),
        (LLAMA, "", "0.13.0", "", False, False),
        (LLAMA, "--async-scheduling", "0.13.0", "", False, True),
        (LLAMA, "--no-async-scheduling", "0.33.0", "", True, False),
        (LLAMA, "--distributed-executor-backend ray", "0.33.0", "", True, False),
        (LLAMA, "-pp 2", "0.14.1", "", False, False),
        (LLAMA, "-pp 2", "0.19.0", "", False, True),
        (LLAMA, "--spec-method ngram --spec-tokens 3", "0.33.0", "", True, True),
        (LLAMA, "--spec-method suffix --spec-tokens 3", "0.33.0", "", False, False),
        (LLAMA, "--spec-method ngram --spec-tokens 3", "0.22.1", "", False, False),
    ],
)
def test_the_runner_and_whether_steps_overlap(model: ModelSpec, flags: str, version: str, front: str, *, v2: bool, overlaps: bool) -> None:
    found = settled(flags, version, model, front=front)
    assert (found.v2_runner, found.async_scheduling) == (v2, overlaps)


@pytest.mark.parametrize(
    ("flags", "version", "expected"),
    [
        ("", "0.33.0", None),
        ('--speculative-config \'{"method": "mtp", "num_speculative_tokens": 2}\'', "0.33.0", Speculative("mtp", 2, None, 1)),
        ('--speculative-config \'{"method": "deepseek_mtp"}\'', "0.33.0", Speculative("mtp", 1, None, 1)),
        ("--spec-model x/EAGLE3-y --spec-tokens 3 -tp 2", "0.33.0", Speculative("eagle3", 3, "x/EAGLE3-y", 2)),
        ("--spec-model x/eagle-y --spec-tokens 3", "0.33.0", Speculative("eagle", 3, "x/eagle-y", 1)),
        ("--spec-model x/y --spec-tokens 3", "0.33.0", Speculative("draft_model", 3, "x/y", 1)),
        ("--spec-model ngram --spec-tokens 3", "0.33.0", Speculative("ngram", 3, None, 1)),
        ('--speculative-config \'{"method": "[ngram]", "num-speculative-tokens": 3}\'', "0.33.0", Speculative("ngram", 3, None, 1)),
        (
            '-tp 4 --speculative-config \'{"model": "x", "num_speculative_tokens": 1, "draft_tensor_parallel_size": 1}\'',
            "0.33.0",
            Speculative("draft_model", 1, "x", 1),
        ),
        ("--speculative-model [ngram] --num-speculative-tokens 5", "0.6.6", Speculative("ngram", 5, None, 1)),
        (
            "--speculative-model x --num-speculative-tokens 5 -spec-draft-tp 2 -tp 4",
            "0.6.6",
            Speculative("draft_model", 5, "x", 2),
        ),
    ],
)
def test_speculation(flags: str, version: str, expected: Speculative | None) -> None:
    model = LLAMA._replace(mtp=(LLAMA.runs[0]._replace(n_layers=1),))
    assert settled(flags, version, model, node=card("h100-sxm", 4)).speculative == expected


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--spec-tokens 3 --spec-method eagle3", "num_speculative_tokens was provided but without speculative model"),
        ("--spec-model x", "num_speculative_tokens must be provided with speculative model"),
        ('--speculative-config \'{"method": "mtp"}\'', "num_speculative_tokens must be provided"),
        ('--spec-method mtp --speculative-config \'{"method": "mtp"}\'', "--spec-method and --speculative-config['method'] are mutually"),
        ('--speculative-config \'{"model": "x", "num_speculative_tokens": 0}\'', "--speculative-config.num_speculative_tokens"),
        ("--speculative-config '{\"model\": 3}'", "--speculative-config.model: Input should be a valid string, found 3"),
        ("--attention-config '{\"backend\": 3}'", "--attention-config.backend"),
    ],
)
def test_speculation_that_vllm_refuses(flags: str, words: str) -> None:
    with pytest.raises(RequestError) as refused:
        settled(flags)
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("model", "n_gpus", "said", "tp"),
    [
        (LLAMA, 8, "", 8),
        (LLAMA, 3, "", 2),
        (LLAMA, 8, "pipeline-parallel-size=2", 4),
        (LLAMA, 8, "data-parallel-size=2 pipeline-parallel-size=2", 2),
        (LLAMA, 8, "tensor-parallel-size=2", 2),
        (LLAMA, 1, "pipeline-parallel-size=2", 1),
        (GEMMA, 8, "", 4),
        (WHISPER, 8, "", 5),
        (MIXTRAL, 7, "", 4),
    ],
)
def test_without_a_word_the_largest_split_that_works(model: ModelSpec, n_gpus: int, said: str, tp: int) -> None:
    flags = [Flag(*pair.split("=")) for pair in said.split()]
    assert chosen(model, card("h100-sxm", n_gpus), *flags).tp == tp


def test_a_command_without_a_word_uses_one_card() -> None:
    assert settled("", node=card("h100-sxm", 8)).tp == 1


def test_heads_that_repeat_must_do_so_evenly() -> None:
    layer = LLAMA.runs[0].layer
    heads = layer.mixers[0]._replace(n_heads=40, n_kv_heads=10)  # type: ignore[union-attr]
    model = LLAMA._replace(runs=(LLAMA.runs[0]._replace(layer=layer._replace(mixers=(heads,))),))
    assert [tp for tp in range(1, 11) if divides(model, tp)] == [1, 2]  # 11008 is no multiple of 5
    assert [tp for tp in (2, 4, 8, 16) if divides(LATENT, tp)] == [2, 4, 8, 16]


@pytest.mark.parametrize(("said", "experts"), [("ep=1", False), ("ep=4", True), ("", False)])
def test_experts_over_all_devices_or_none(said: str, experts: bool) -> None:  # noqa: FBT001  # a row
    flags = [Flag(*pair.split("=")) for pair in ["tensor-parallel-size=4", *said.split()]]
    assert chosen(MIXTRAL, card("h100-sxm", 4), *flags).expert_parallel is experts
    with pytest.raises(RequestError, match="--ep 3: vLLM splits experts over all 4 devices"):
        chosen(MIXTRAL, card("h100-sxm", 4), *flags, Flag("ep", "3"))


@pytest.mark.parametrize(
    ("limit", "rope", "version", "expected"),
    [
        (4096, (), "0.33.0", Length(4096, 4096)),
        (None, (), "0.33.0", Length(None, 2048)),
        (4096, (RopeScaling("linear", 4.0, None),), "0.33.0", Length(16384, 16384)),
        (4096, (RopeScaling("dynamic", 2.5, None),), "0.33.0", Length(10240, 10240)),
        (131072, (RopeScaling("linear", 8.0, None, applied=True),), "0.33.0", Length(131072, 131072)),
        (131072, (RopeScaling("llama3", 8.0, 8192),), "0.33.0", Length(131072, 131072)),
        (131072, (RopeScaling("longrope", 1.0, 4096),), "0.33.0", Length(131072, 4096)),
        (32768, (RopeScaling("yarn", 4.0, 32768),), "0.33.0", Length(32768, 32768)),
        (32768, (RopeScaling("yarn", 4.0, 32768),), "0.29.0", Length(131072, 131072)),
        (32768, (RopeScaling("yarn", 4.0, None),), "0.29.0", Length(32768, 32768)),
        (131072, (RopeScaling("default", 1.0, None), RopeScaling("linear", 2.0, None)), "0.33.0", Length(262144, 262144)),
    ],
)
def test_the_longest_sequence(limit: int | None, rope: tuple[RopeScaling, ...], version: str, expected: Length) -> None:
    assert length(LLAMA._replace(max_ctx_tokens=limit, rope=rope), rules_for(version)[0]) == expected


def test_the_length_as_said_by_default_and_by_the_workload() -> None:
    assert settled().max_model_len == 4096
    assert settled("--max-model-len 100").max_model_len == 100
    fitted = settled("--max-model-len -1")
    assert (fitted.max_model_len, fitted.auto_fit) == (4096, True)
    assert chosen(LLAMA, NOWHERE).max_model_len == LOAD.ctx_tokens


def test_the_rest_is_taken_as_said() -> None:
    found = settled(
        "--enable-lora --max-loras 2 --max-lora-rank 64 --fully-sharded-loras --cpu-offload-gb 1.5 --kv-offloading-size 10 "
        '--limit-mm-per-prompt \'{"video": 0, "image": 2}\' --attention-config.backend FLASHINFER --disable-sliding-window '
        "--kv-cache-memory-bytes 0 --quantization fp8 --enable-sleep-mode -dcp 2 -pcp 1 -ep",
        front="VLLM_PP_LAYER_PARTITION=16,16 VLLM_ALLOW_LONG_MAX_MODEL_LEN=1",
    )
    assert found.lora == Lora(2, 64, fully_sharded=True)
    assert (found.cpu_offload_bytes, found.kv_offloading_bytes, found.swap_space_bytes) == (3 * GIB // 2, 10 * GIB, 0)
    assert found.mm_limits == (("image", 2), ("video", 0))
    assert (found.attention_backend, found.sliding_window, found.kv_cache_memory_bytes) == ("FLASHINFER", False, None)
    assert (found.quantization, found.sleep_mode, found.dcp, found.expert_parallel) == ("fp8", True, 2, True)
    assert (found.layer_partition, found.allow_long_max_model_len) == ((16, 16), True)
    assert settled("", "0.7.3").swap_space_bytes == 4 * GIB
    assert settled("", "0.9.2", front="VLLM_USE_V1=0").v1 is False
