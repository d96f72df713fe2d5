"""Contradictions that vLLM finds before it loads anything, in its words. Source: as in checks.refusals."""

import pytest

from kvplan.core.model import ModelSpec
from kvplan.engines.vllm.checks import refusals
from kvplan.engines.vllm.rules import rules_for
from tests.engines.vllm.resolving import GEMMA, HYBRID, LLAMA, card, settled

H100 = "h100-sxm"
GPTQ = LLAMA._replace(quantization="gptq")


@pytest.mark.parametrize(
    ("model", "flags", "gpu", "version", "front", "rule", "words"),
    [
        (
            LLAMA,
            "--no-enable-chunked-prefill --max-num-batched-tokens 2048",
            H100,
            "0.33.0",
            "",
            "KV120",
            "(2048) is smaller than max_model_len (4096)",
        ),
        (
            LLAMA,
            "--max-num-batched-tokens 8 --max-num-seqs 9",
            H100,
            "0.33.0",
            "",
            "KV121",
            "(8) must be greater than or equal to max_num_seqs (9).",
        ),
        (GEMMA, "--dtype half", H100, "0.33.0", "", "KV122", "The model type 'gemma3_text' does not support float16. Reason: Numerical"),
        (LLAMA, "--dtype bfloat16", "t4", "0.33.0", "", "KV123", "Your Tesla T4 GPU has compute capability 7.5. You can use float16"),
        (
            LLAMA,
            "--kv-cache-dtype bfloat16",
            H100,
            "0.33.0",
            "",
            "KV124",
            'kv_cache_dtype="bfloat16" is incompatible with dtype="float16". Please set `--kv-cache-dtype` to `auto` or `float16`.',
        ),
        (LLAMA, "--kv-cache-dtype bfloat16 --dtype float32", H100, "0.33.0", "", "KV124", "Please set `--kv-cache-dtype` to `auto`."),
        (
            GPTQ,
            "--quantization fp8",
            H100,
            "0.33.0",
            "",
            "KV125",
            "specified in the model config (gptq) does not match the quantization method specified in the `quantization` argument (fp8).",
        ),
        (
            LLAMA,
            "--enable-lora --max-lora-rank 17",
            H100,
            "0.33.0",
            "",
            "KV126",
            "argument --max-lora-rank: invalid choice: 17 (choose from 1, 8, 16",
        ),
        (
            HYBRID,
            "--mamba-block-size 64 --no-enable-prefix-caching",
            H100,
            "0.33.0",
            "",
            "KV127",
            "--mamba-block-size can only be set with",
        ),
        (LLAMA, "-pp 2", H100, "0.33.0", "VLLM_PP_LAYER_PARTITION=32", "KV128", "len(partitions)=1 does not match pp_size=2."),
        (
            LLAMA,
            "-pp 2",
            H100,
            "0.33.0",
            "VLLM_PP_LAYER_PARTITION=16,17",
            "KV129",
            "sum(partitions)=33 does not match num_hidden_layers=32.",
        ),
    ],
)
def test_a_contradiction(model: ModelSpec, flags: str, gpu: str, version: str, front: str, rule: str, words: str) -> None:  # noqa: PLR0913  # a row
    node = card(gpu)
    (found,) = refusals(model, settled(flags, version, model, node, front), node, rules_for(version)[0])
    assert (found.rule, found.at) == (rule, "parse" if rule == "KV126" else "config")
    assert words in found.text


@pytest.mark.parametrize(
    ("model", "flags", "gpu", "version", "front"),
    [
        (LLAMA, "", H100, "0.33.0", ""),
        (LLAMA, "--dtype half", "t4", "0.33.0", ""),
        (GEMMA, "", H100, "0.33.0", ""),
        (LLAMA, "--kv-cache-dtype float16", H100, "0.33.0", ""),
        (LLAMA, "--kv-cache-dtype bfloat16", H100, "0.29.0", ""),
        (GPTQ, "", H100, "0.33.0", ""),
        (GPTQ, "--quantization gptq_marlin", H100, "0.33.0", ""),
        (GPTQ, "--quantization moe_wna16", H100, "0.33.0", ""),
        (LLAMA, "--quantization fp8", H100, "0.33.0", ""),
        (LLAMA, "--enable-lora --max-lora-rank 64", H100, "0.33.0", ""),
        (HYBRID, "--mamba-block-size 64", H100, "0.33.0", ""),
        (LLAMA, "-pp 2", H100, "0.33.0", "VLLM_PP_LAYER_PARTITION=15,17"),
    ],
)
def test_what_agrees_is_let_through(model: ModelSpec, flags: str, gpu: str, version: str, front: str) -> None:
    node = card(gpu)
    assert not [*refusals(model, settled(flags, version, model, node, front), node, rules_for(version)[0])]
