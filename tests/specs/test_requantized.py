"""What is quantized already, taken back and quantized otherwise."""

from typing import Any

import pytest

from kvplan.core.model import WeightGroup
from kvplan.specs import load_model
from kvplan.specs.build import build
from kvplan.specs.paper import requantized
from tests.specs.quantized import SMALL
from tests.specs.test_paper import MIXTURE, named


@pytest.mark.parametrize(
    "quantization",
    [
        pytest.param({"quant_method": "awq", "bits": 4, "group_size": 64}, id="awq"),
        pytest.param({"quant_method": "gptq", "bits": 8, "group_size": 32}, id="gptq"),
        pytest.param({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, id="bitsandbytes"),
        pytest.param({"quant_method": "fp8", "activation_scheme": "static"}, id="fp8"),
        pytest.param({"quant_method": "nonsense"}, id="an unknown one"),
    ],
)
@pytest.mark.parametrize("config", [SMALL, MIXTURE], ids=["dense", "mixture"])
def test_what_is_quantized_is_taken_back_first(config: dict[str, Any], quantization: dict[str, Any]) -> None:
    plain, packed = build(config, where="c"), build(config | {"quantization_config": quantization}, where="c")
    unpacked = requantized(packed, "bfloat16")
    assert unpacked.weight_bytes == plain.weight_bytes == 2 * plain.n_params
    assert (unpacked.runs, unpacked.weights, unpacked.quantization, unpacked.exact) == (plain.runs, plain.weights, None, True)
    assert [caveat.rule for caveat in unpacked.caveats] == ["KV025"]
    assert requantized(packed, "int4").weight_bytes == requantized(plain, "int4").weight_bytes


def test_layers_that_were_left_alone_are_like_the_others_again() -> None:
    quantization = {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.1"]}
    packed = build(SMALL | {"quantization_config": quantization}, where="c")
    assert [run.n_layers for run in packed.runs] == [1, 1]
    assert [run.n_layers for run in requantized(packed, "int8").runs] == [2]


def test_scales_of_a_cache_go_too() -> None:
    quantization = {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["*self_attn*"]}
    packed = build(SMALL | {"quantization_config": quantization}, where="c")
    assert named(packed, "self_attn.k_proj.k_scale").dtype == "float32"
    assert requantized(packed, "bfloat16").weight_bytes == 2 * packed.n_params


def test_vectors_of_a_gguf_are_float32_only_there() -> None:
    plain = build(SMALL, where="c")
    packed = requantized(plain, "q4_k_m")._replace(source="gguf", stored_dtype="q4_k")
    assert named(packed, "norm.weight").dtype == "float32"
    assert requantized(packed, "float16").weight_bytes == 2 * plain.n_params
    assert requantized(packed, "iq4_xs").weight_bytes == requantized(plain, "iq4_xs").weight_bytes


def test_deepseek_v3_in_bfloat16_is_two_bytes_a_parameter() -> None:
    # deepseek-ai/DeepSeek-V3 is published in FP8; its 58 routers have a buffer of 256 in float32
    spec = requantized(load_model("deepseek-v3"), "bfloat16")
    assert spec.weight_bytes == 2 * spec.n_params + 4 * 58 * 256


def test_tables_of_the_model_are_not_mistaken_for_scales() -> None:
    table = WeightGroup("mlp.gate.tid2eid", "scale", 10, 2, dtype="int64")
    plain = build(MIXTURE, where="c")
    packed = requantized(plain._replace(weights=(*plain.weights, WeightGroup("mlp.gate.weight", "router", 8, 16), table)), "int4")
    assert table in requantized(packed, "bfloat16").weights


def test_the_rest_stays_what_it_is() -> None:
    said = requantized(build(SMALL, where="c"), "nf4").caveats[0]
    assert said.message.startswith("--dtype nf4 is a checkpoint on paper: projections of the layers in 4 bits")
    assert "stay bfloat16" in said.message
    assert "BitsAndBytesConfig(load_in_4bit=True" in said.hint


def test_likenesses_stay_as_unsure_as_they_were() -> None:
    strange = build(
        SMALL | {"model_type": "strange", "architectures": ["StrangeForCausalLM"], "rms_norm_eps": 1e-5, "hidden_act": "silu"}, where="c"
    )
    assert requantized(strange, "int4").off_by == (6, 7)
    assert not requantized(strange._replace(quantization="awq"), "bfloat16").exact
