"""The step and its graphs by default, as vllm 0.33.0 engine/arg_utils.py and config/vllm.py set them."""

import pytest

import kvplan
from kvplan.core.device import UNKNOWN_NODE, budget_node
from kvplan.core.engine import Flag, Parsed
from kvplan.core.units import GIB
from kvplan.core.workload import Workload
from kvplan.engines.vllm.engine import ENGINE
from kvplan.engines.vllm.versions import release
from tests.engines.vllm.resolving import LLAMA, NOWHERE, card, chosen, settled


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
        ("-dp 2 -ep --all2all-backend deepep_low_latency", "0.33.0", 256, 256),
        ("-dp 2 -ep --all2all-backend naive", "0.33.0", 8192, 1024),
        ("-dp 2 --all2all-backend deepep_low_latency", "0.33.0", 8192, 1024),
        ("-dp 2 -ep --all2all-backend deepep_low_latency", "0.18.1", 8192, 1024),
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


def test_steps_as_long_as_the_context_are_found_for_any_number_of_contexts() -> None:
    parsed, model = Parsed("vllm", None, None, (Flag("enable-chunked-prefill", "false"),)), kvplan.load_model("llama-2-7b")
    for ctx in range(20_000, 20_300):
        settings = ENGINE.resolve(parsed, Workload(ctx, 1, ctx), model, UNKNOWN_NODE, "0.33.0")
        assert (settings.max_model_len, settings.max_num_batched_tokens) == (ctx, ctx)
