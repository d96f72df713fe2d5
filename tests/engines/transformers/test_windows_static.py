"""Families of versions before 4.56 whose cache is a HybridCache unless somebody chooses another."""

import pytest

from kvplan import estimate
from kvplan.core.errors import RequestError
from kvplan.estimator import Options, answer
from tests.bench.older_versions import off
from tests.engines.transformers.running import NEWEST

SMALL = {
    "vocab_size": 32000,
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 6,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "max_position_embeddings": 8192,
    "sliding_window": 512,
}
CONFIGS: dict[str, dict[str, object]] = {
    "gemma2": SMALL | {"model_type": "gemma2", "head_dim": 128, "query_pre_attn_scalar": 128},
    "gemma3_text": SMALL | {"model_type": "gemma3_text", "head_dim": 128},
    "cohere2": SMALL | {"model_type": "cohere2", "num_hidden_layers": 8, "sliding_window_pattern": 4},
}
RUNS = [  # prefill and decode peaks beside the weights, traced with HybridCache on tensors without memory, compute capability 8.0
    ("4.44.2", "gemma2", "eager", [2, 1000, 2, 404806918, 268886950]),
    ("4.48.3", "gemma2", "eager", [2, 1000, 2, 394390918, 23545878]),
    ("4.50.3", "cohere2", "eager", [2, 1000, 2, 398577216, 27740168]),
    ("4.50.3", "gemma3_text", "sdpa", [2, 1000, 2, 121998912, 23390744]),
    ("4.53.3", "gemma2", "eager", [2, 1000, 2, 400396032, 35652832]),
    ("4.53.3", "cohere2", "eager", [2, 1000, 2, 402583296, 37840096]),
    ("4.53.3", "gemma3_text", "sdpa", [2, 1000, 2, 117991952, 31326322]),
]


@pytest.mark.parametrize(("version", "family", "attn", "run"), RUNS)
def test_peaks_are_near_those_traced(version: str, family: str, attn: str, run: list[int]) -> None:
    prefill, decode = off(CONFIGS[family], {"attn_implementation": attn}, version, run)
    least = -1 if version == "4.53.3" else -2
    assert least < prefill < 34  # the interval of these versions is 40 % wide
    assert least < decode < 52


@pytest.mark.parametrize(
    ("version", "model", "cache"),
    [
        ("4.41.0", "gemma-2-9b", "dynamic"),
        ("4.45.0", "gemma-2-9b", "static"),
        ("4.50.0", "gemma-3-12b", "static"),
        ("4.50.0", "mistral-7b-v0.1", "dynamic"),
        ("4.55.0", "gemma-3-12b", "static"),
        ("4.56.0", "gemma-3-12b", "dynamic"),
        (NEWEST, "gemma-2-9b", "dynamic"),
    ],
)
def test_the_default_is_that_of_the_version(version: str, model: str, cache: str) -> None:
    assert estimate(model, engine=f"transformers@{version}", ctx=8192).settings["cache"] == cache


def test_windows_are_as_long_as_they_need_be() -> None:
    """Gemma 2 9B: of 42 layers every other one sees 4,096 tokens; 2 · 8 · 256 elements of 2 bytes a token and layer."""
    layer = 2 * 8 * 256 * 2
    found = estimate("gemma-2-9b", engine="transformers@4.49.0", ctx=8192)
    assert found.kv.reserved_bytes == 21 * layer * (4096 + 8192)
    assert found.settings["hybrid"]
    assert "cache_implementation=hybrid" in found.command
    chosen = estimate("gemma-2-9b", engine="transformers@4.49.0", ctx=8192, cache="static")
    assert chosen.kv.reserved_bytes == 42 * layer * 8192
    assert not chosen.settings["hybrid"]


def test_others_have_no_such_cache() -> None:
    with pytest.raises(RequestError, match=r"cache_implementation=hybrid: transformers 4\.49\.0 has none"):
        answer(Options(command=("transformers", "qwen3-8b", "cache_implementation=hybrid"), engine="transformers@4.49.0"))
