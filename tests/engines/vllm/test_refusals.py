"""What vLLM says no to before it looks at memory."""

from typing import Any

import pytest

import kvplan
from kvplan.core.device import Node
from kvplan.core.model import ModelSpec
from kvplan.engines.vllm.deployment import Deployment
from tests.engines.vllm.resolving import LLAMA, card, settled

H100 = card("h100-sxm")


def texts(found: Deployment) -> list[str]:
    return [refusal.text for refusal in found.refusals]


def refused(model: ModelSpec, settings: Any, node: Node = H100) -> list[str]:
    return texts(Deployment(model, settled(model=model, node=node)._replace(**settings), node))


@pytest.mark.parametrize(
    ("model", "settings", "text"),
    [
        pytest.param(
            "llama-2-7b", {"max_model_len": 8192}, "User-specified max_model_len (8192) is greater than the derived", id="too long"
        ),
        pytest.param("mamba-codestral-7b", {"auto_fit": True}, "max_model_len=-1 needs a limit", id="nothing to fit to"),
        pytest.param("llama-2-7b", {"tp": 2}, "World size (2) is larger than the number of available GPUs (1)", id="too few GPUs"),
        pytest.param("qwen3-235b-a22b", {"tp": 8, "dcp": 4}, "`--decode-context-parallel-size` (4) exceeds the maximum", id="DCP beyond"),
        pytest.param("gpt-oss-20b", {"tp": 16, "dcp": 2}, "DCP not support sliding window.", id="DCP and windows"),
        pytest.param("phi-4", {"tp": 8}, "AssertionError", id="KV heads neither divide nor are divided"),
        pytest.param("kimi-linear-48b-a3b", {"kv_cache_dtype": "nvfp4"}, "No valid attention backend found for cuda", id="no kernel"),
        pytest.param("nemotron-h-8b", {"tp": 16}, "If tensor parallel world size does not divide num_groups", id="groups of states"),
        pytest.param("mamba-codestral-7b", {"tp": 3}, "Tensor parallel world size must divide num heads.", id="heads of states"),
        pytest.param("qwen3-next-80b-a3b", {"tp": 3}, "32 is not divisible by 3", id="heads of a delta net"),
    ],
)
def test_what_the_settings_contradict(model: str, settings: dict[str, object], text: str) -> None:
    spec = kvplan.load_model(model)
    assert any(found.startswith(text) for found in refused(spec, settings)), refused(spec, settings)


def test_query_heads_divide_among_context_parallel_ranks() -> None:
    node = card("h100-sxm", 8)
    spec = kvplan.load_model("qwen2.5-0.5b")  # 14 heads, 2 of them KV heads
    assert any("number of query heads per KV head (7)" in text for text in refused(spec, {"tp": 8, "dcp": 4}, node))


def test_a_long_length_may_be_insisted_on() -> None:
    assert refused(LLAMA, {"max_model_len": 8192, "allow_long_max_model_len": True}) == []


def test_older_versions_choose_no_length() -> None:
    assert "only vLLM 0.14 and later" in Deployment(LLAMA, settled("--max-model-len -1", "0.13.0"), card("h100-sxm")).refusals[0].text
    assert Deployment(LLAMA, settled("--max-model-len -1", "0.14.0"), card("h100-sxm")).refusals == ()
