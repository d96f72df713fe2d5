"""Sweeps give what an estimate of each point alone gives, to the byte."""

import random
from typing import Any

import pytest

import kvplan
from kvplan.core.workload import Workload
from kvplan.estimator import Options, answer
from kvplan.estimator.swept import Point

GRIDS: dict[str, dict[str, Any]] = {
    "transformers": {"gpu": ["a100-80", "h100-sxm", "none"], "dtype": ["auto", "float16"], "attn": ["sdpa", "eager"]},
    "vllm": {"gpu": ["l40s", "h100-sxm:2", "none"], "engine": ["vllm@0.19", "vllm@0.33"], "kv_dtype": ["auto", "fp8"]},
    "llama.cpp": {
        "gpu": ["rtx-4090", "rtx-4090+rtx-3060-12", "none"],
        "engine": ["llama.cpp", "llama.cpp@b7000"],
        "kv_dtype": ["auto", "q8_0"],
    },
    "ollama": {"gpu": ["rtx-4090", "none"], "engine": ["ollama"]},
    "host": {"engine": ["llama.cpp", "ollama"], "gpu": ["rtx-4090"], "ram": ["16GiB", "64GiB"]},
}
MODELS = ("llama-2-7b", "gemma-3-12b", "qwen3-30b-a3b", "granite-4.0-h-tiny", "deepseek-v2-lite")


@pytest.mark.parametrize("grid", GRIDS)
def test_a_sweep_is_as_many_estimates(grid: str) -> None:
    chosen = random.Random(grid)
    ctx, models = chosen.sample(range(1, 150_000), 3), chosen.sample(MODELS, 2)
    found = kvplan.sweep(models, ctx=[512, *ctx], batch=[1, chosen.randrange(2, 5), chosen.randrange(5, 300)], **GRIDS[grid])
    names = [axis.option for axis in found.axes]
    for point in chosen.sample(found.points, min(40, len(found.points))):
        same(point, Options(command=(), **dict(zip(names, point.at, strict=True))))


def same(point: Point, options: Options) -> None:
    """Holds the point to the estimate of its options."""
    try:
        alone, complaint = answer(options), None
    except kvplan.KvplanError as error:
        complaint = error.message
    assert complaint == (point.error and point.error.message)
    if complaint is not None:
        return
    assert (point.load, point.needed, point.headroom_bytes) == (alone.workload, alone.needed, alone.headroom_bytes)
    assert (point.verdict, point.refusals) == (alone.verdict, alone.refusals)
    assert {finding.rule for finding in point.warnings} <= {finding.rule for finding in alone.findings}
    assert (point.performance, point.tokens_per_s) == (alone.performance, alone.performance and alone.performance.decode_tokens_per_s)
    assert point.beyond_limit == any(finding.rule == "KV201" for finding in alone.findings)


def test_a_grid_and_one_thing_at_a_time() -> None:
    grid = kvplan.sweep("llama-2-7b", ctx=[1024, 2048], batch=(1, 2, 4), dtype=["auto", "float32"])
    assert [axis.option for axis in grid.axes] == ["model", "dtype", "ctx", "batch"]
    assert len(grid.points) == 12
    assert grid.points[1].load == Workload(1024, 2, 1023)
    one = kvplan.sweep("llama-2-7b", ctx=[1024, 2048], batch=(1, 2, 4), dtype=["auto", "float32"], one_at_a_time=True)
    assert [point.at[1:] for point in one.points] == [
        ("auto", "1024", "1"),
        ("float32", "1024", "1"),
        ("auto", "2048", "1"),
        ("auto", "1024", "2"),
        ("auto", "1024", "4"),
    ]
    by_place = {point.at: point for point in grid.points}
    assert all(by_place[point.at].needed == point.needed for point in one.points)


def test_the_frontier_is_the_longest_context_that_fits() -> None:
    found = kvplan.sweep("llama-2-7b", ctx=[1024, 2048, 4096, 8192], batch=[1, 8, 512], gpu="rtx-4090")
    assert [(reach.at[-1], reach.ctx_tokens) for reach in found.frontier] == [("1", 4096), ("8", 1024), ("512", None)]
    assert kvplan.sweep("llama-2-7b", ctx=1024, batch=[1, 8]).frontier == ()


def test_what_is_wrong_with_a_point_is_its_own() -> None:
    found = kvplan.sweep(
        ["llama-2-7b", "nosuch"], ctx=["16", "8x", "64"], prompt=32, engine=["transformers", "vllm"], kv_dtype=["q8_0", "fp8"]
    )
    kinds = {point.error.kind for point in found.points if point.error}
    assert kinds == {"unknown_model", "bad_number", "bad_setting"}
    assert all(point.needed is None for point in found.points if point.error)
    assert any(point.error is None for point in found.points)
    refused = kvplan.sweep("llama-2-7b", ctx=[4096, 8192], engine="vllm", gpu="h100-sxm").points
    assert [[refusal.rule for refusal in point.refusals] for point in refused] == [[], ["KV110"]]


def test_a_point_warns_of_what_its_settings_do() -> None:
    found = kvplan.sweep("llama-3.1-8b", ctx=[8192, 131072], batch=[1, 16], engine="llama.cpp", gpu="l40s")
    assert [[finding.rule for finding in point.warnings] for point in found.points] == [[], [], [], ["KV334"]]


def test_where_no_point_has_an_answer_the_first_one_tells_why() -> None:
    with pytest.raises(kvplan.KvplanError, match="unknown GPU 'h10'"):
        kvplan.sweep("llama-2-7b", gpu=["h10", "h11"])
    with pytest.raises(kvplan.KvplanError, match="--ctx: a value is missing"):
        kvplan.sweep("llama-2-7b", ctx=[])
