"""Bytes of quantized checkpoints against the sizes of the published files."""

from collections import Counter
from typing import Any

import pytest

from kvplan.specs.build import build
from kvplan.specs.config import ConfigError
from tests.specs.quantized import PROJECTIONS, SMALL

QWEN_7B: dict[str, Any] = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "torch_dtype": "float16",
}
GPT_OSS_20B: dict[str, Any] = {
    "model_type": "gpt_oss",
    "architectures": ["GptOssForCausalLM"],
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_hidden_layers": 24,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 201088,
    "num_local_experts": 32,
    "num_experts_per_tok": 4,
    "sliding_window": 128,
}


def test_awq_of_qwen2_5_7b_is_as_large_as_its_files() -> None:
    # Qwen/Qwen2.5-7B-Instruct-AWQ: 5,570,747,392 bytes of tensors
    spec = build(QWEN_7B | {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}}, where="c")
    assert spec.weight_bytes == 5_570_747_392
    assert spec.n_params == 7_615_616_512
    assert (spec.quantization, spec.exact) == ("awq", True)


def test_mxfp4_of_gpt_oss_20b_is_as_large_as_its_files() -> None:
    # openai/gpt-oss-20b: 13,761,264,768 bytes of tensors; its config names no dtype
    config = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"]}
    spec = build(GPT_OSS_20B | {"quantization_config": config}, where="c")
    assert spec.weight_bytes == 13_761_264_768
    assert (spec.stored_dtype, spec.exact) == ("bfloat16", True)
    assert spec.caveats == ()


def test_fp8_of_deepseek_v3_is_as_large_as_its_files() -> None:
    # deepseek-ai/DeepSeek-V3: 688,574,839,360 bytes with the next-token layer; by type the Hub counts these elements
    sizes = {"hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61, "num_attention_heads": 128, "vocab_size": 129280}
    config = {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "torch_dtype": "bfloat16", **sizes}
    spec = build(config | {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}, where="c")
    drafting = [group for run in spec.mtp for group in run.layer.weights]
    assert spec.weight_bytes == 673_150_611_808
    assert spec.weight_bytes + sum(group.n_bytes(spec.stored_dtype) for group in drafting) == 688_574_839_360
    elems: Counter[str] = Counter()
    for group in (*spec.groups(), *drafting):
        elems[group.dtype or spec.stored_dtype] += group.rows * group.cols * group.n_copies
    assert elems == {"bfloat16": 3_918_786_560, "float8_e4m3fn": 680_571_043_840, "float32": 41_555_600}


def test_fp8_of_qwen3_8b_is_within_what_is_not_known_of_its_scales() -> None:
    # Qwen/Qwen3-8B-FP8: 9,436,551,168 bytes; its 423,936 scales are in bfloat16, DeepSeek's in float32, and no key says which
    sizes = {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32, "vocab_size": 151936}
    config = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "torch_dtype": "bfloat16", **sizes, "head_dim": 128}
    quantization = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    spec = build(config | {"num_key_value_heads": 8, "quantization_config": quantization}, where="c")
    assert spec.weight_bytes - 2 * 423_936 == 9_436_551_168
    assert (spec.exact, spec.off_by) == (False, (1, 0))


@pytest.mark.parametrize("pattern", ["model.layers.1.self_attn*", "re:.*layers\\.1\\.self_attn.*", "layers.1.self_attn", "*.1.self_attn.*"])
def test_modules_left_alone(pattern: str) -> None:
    whole, partly = (
        build(SMALL | {"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": names}}, where="c")
        for names in ([], [pattern])
    )
    attention = sum(rows * cols for rows, cols in PROJECTIONS[:4])
    assert partly.weight_bytes - whole.weight_bytes == attention - 4 * 2  # a byte more an element, four scales less
    assert [run.n_layers for run in partly.runs] == [1, 1]


def test_an_unknown_method_is_an_upper_bound_and_says_so() -> None:
    spec = build(SMALL | {"quantization_config": {"quant_method": "awqq"}}, where="c")
    assert spec.weight_bytes == 2 * spec.n_params
    assert [(caveat.rule, caveat.hint) for caveat in spec.caveats] == [("KV004", "did you mean 'awq'?")]


@pytest.mark.parametrize("method", ["gptq", "awq"])
def test_groups_of_nothing_are_refused(method: str) -> None:
    with pytest.raises(ConfigError, match=r"quantization_config\.group_size: expected a number of inputs, or -1"):
        build(SMALL | {"quantization_config": {"quant_method": method, "bits": 4, "group_size": 0}}, where="c")


@pytest.mark.parametrize(
    ("quantization", "words"),
    [
        pytest.param({"quant_method": "gptq"}, "bits: missing", id="gptq without bits"),
        pytest.param({"quant_method": "bitsandbytes"}, "load_in_4bit: expected this or load_in_8bit", id="bitsandbytes of neither width"),
        pytest.param({"quant_method": "modelopt"}, "quant_algo: missing", id="modelopt without its algorithm"),
    ],
)
def test_what_no_class_defaults_is_not_guessed(quantization: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=rf"quantization_config\.{words}"):
        build(SMALL | {"quantization_config": quantization}, where="c")


@pytest.mark.parametrize(
    ("unnamed", "named"),
    [
        pytest.param({"load_in_8bit": True}, {"quant_method": "bitsandbytes", "load_in_8bit": True}, id="by its flag"),
        pytest.param(
            {"quant_method": "bitsandbytes_4bit"}, {"quant_method": "bitsandbytes", "load_in_4bit": True}, id="by its longer name"
        ),
        pytest.param({"quant_algo": "NVFP4"}, {"quant_method": "modelopt", "quant_algo": "NVFP4"}, id="by its algorithm"),
        pytest.param({"quant_method": "auto-round"}, {"quant_method": "auto-round", "bits": 4}, id="by its class's default"),
    ],
)
def test_two_ways_to_say_one_layout(unnamed: dict[str, Any], named: dict[str, Any]) -> None:
    first, second = (build(SMALL | {"quantization_config": config}, where="c") for config in (unnamed, named))
    assert first.quantization
    assert (first.weight_bytes, first.caveats) == (second.weight_bytes, second.caveats)
