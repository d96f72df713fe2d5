"""Checkpoints on paper against the sizes of published ones."""

from typing import Any

import pytest

from kvplan import _discover
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec, WeightGroup
from kvplan.core.units import GIB
from kvplan.specs import load_model
from kvplan.specs.build import build
from kvplan.specs.paper import SCHEMES, find, names, requantized
from kvplan.specs.paper.ggml import NAMES, mixes
from tests.specs.quantized import SMALL
from tests.specs.test_quantization import GPT_OSS_20B, QWEN_7B

MIXTURE: dict[str, Any] = {
    "model_type": "mixtral",
    "architectures": ["MixtralForCausalLM"],
    "vocab_size": 1000,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "torch_dtype": "bfloat16",
}
HEADER_MOST = 14 << 20
"""Bytes of the largest vocabulary's header among these files."""

# ggml-org/llama.cpp tools/quantize/README.md at 311c2c9, table of meta-llama/Llama-3.1-8B: bits a weight
BITS_OF_LLAMA_3_1_8B = {
    "IQ1_S": 2.0042,
    "IQ1_M": 2.1460,
    "IQ2_XXS": 2.3824,
    "IQ2_XS": 2.5882,
    "IQ2_S": 2.7403,
    "IQ2_M": 2.9294,
    "IQ3_XXS": 3.2548,
    "IQ3_XS": 3.4977,
    "IQ3_S": 3.6606,
    "IQ3_M": 3.7628,
    "IQ4_XS": 4.4597,
    "IQ4_NL": 4.6818,
    "Q2_K_S": 2.9697,
    "Q2_K": 3.1593,
    "Q3_K_S": 3.6429,
    "Q3_K_L": 4.2979,
    "Q4_K_S": 4.6672,
    "Q4_K_M": 4.8944,
    "Q5_K_S": 5.5704,
    "Q5_K_M": 5.7036,
    "Q6_K": 6.5633,
    "Q8_0": 8.5008,
    "F16": 16.0005,
}


def named(spec: ModelSpec, name: str) -> WeightGroup:
    return next(group for group in spec.groups() if group.name == name)


@pytest.mark.parametrize(("name", "bits"), [pytest.param(*row, id=row[0]) for row in BITS_OF_LLAMA_3_1_8B.items()])
def test_every_file_type_of_llama_3_1_8b(name: str, bits: float) -> None:
    spec = requantized(load_model("llama-3.1-8b"), name)
    assert 8 * spec.weight_bytes / spec.n_params == pytest.approx(bits, abs=1e-4)


@pytest.mark.parametrize(
    ("model", "name", "file_bytes"),
    [
        pytest.param("llama-2-7b", "q4_k_m", 4_081_004_224, id="TheBloke/Llama-2-7B-Chat-GGUF"),
        pytest.param("llama-3-8b", "q4_k_m", 4_920_734_272, id="bartowski/Meta-Llama-3-8B-Instruct-GGUF"),
        pytest.param("qwen2.5-7b", "q4_k_m", 4_683_073_504, id="bartowski/DeepSeek-R1-Distill-Qwen-7B-GGUF"),
        pytest.param("gpt-oss-20b", "mxfp4_moe", 12_109_566_560, id="ggml-org/gpt-oss-20b-GGUF"),
    ],
)
def test_published_files_are_as_large_but_for_their_header(model: str, name: str, file_bytes: int) -> None:
    spec = requantized(load_model(model), name)
    assert 0 < file_bytes - spec.weight_bytes < HEADER_MOST
    assert spec.weight_bytes == pytest.approx(file_bytes, rel=0.005)


def test_rows_that_no_block_of_256_divides() -> None:
    # bartowski/Qwen2.5-0.5B-Instruct-GGUF, Q4_K_M: 397,808,192 bytes, of which 391,859,712 are tensors; rows of 896
    config = QWEN_7B | {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "tie_word_embeddings": True}
    spec = requantized(build(config | {"num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936}, where="c"), "q4_k_m")
    assert spec.weight_bytes == 391_859_712


@pytest.mark.parametrize(
    ("model", "name", "gib"),
    [
        # what llama-bench prints of them, as many logs on GitHub show
        pytest.param("llama-3.1-70b", "q4_k_m", 39.59, id="llama 70B Q4_K - Medium"),
        pytest.param("qwen3-30b-a3b", "q4_k_m", 17.28, id="qwen3moe 30B.A3B Q4_K - Medium"),
        pytest.param("mixtral-8x7b", "q4_k_m", 26.49, id="llama 8x7B Q4_K - Medium"),
        pytest.param("deepseek-v2-lite", "q4_k_m", 9.65, id="deepseek2 16B Q4_K - Medium"),
        pytest.param("phi-3-mini-4k", "q4_k_m", 2.23, id="phi3 3B Q4_K - Medium"),
    ],
)
def test_printed_sizes(model: str, name: str, gib: float) -> None:
    assert requantized(load_model(model), name).weight_bytes / GIB == pytest.approx(gib, abs=0.005)


def test_awq_of_qwen2_5_7b_is_as_large_as_its_files() -> None:
    # Qwen/Qwen2.5-7B-Instruct-AWQ: 5,570,747,392 bytes of tensors
    spec = requantized(build(QWEN_7B, where="c"), "awq")
    assert spec.weight_bytes == 5_570_747_392
    assert (spec.quantization, spec.exact, spec.off_by, spec.n_params) == ("awq", False, (1, 2), 7_615_616_512)


def test_mxfp4_of_gpt_oss_is_what_it_is_published_in() -> None:
    # openai/gpt-oss-20b: 13,761,264,768 bytes of tensors
    assert requantized(build(GPT_OSS_20B | {"dtype": "bfloat16"}, where="c"), "mxfp4").weight_bytes == 13_761_264_768


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        pytest.param("int4", 4 + 16 / 128, id="int4"),
        pytest.param("int8", 8, id="int8"),
        pytest.param("awq", 4 + (16 + 4) / 128, id="awq"),
        pytest.param("gptq", 4 + (16 + 4) / 128, id="gptq"),
        pytest.param("gptq_int8", 8 + (16 + 8) / 128, id="gptq int8"),
        pytest.param("fp8", 8, id="fp8"),
        pytest.param("fp8_block", 8 + 32 / 128**2, id="fp8 blocks"),
        pytest.param("nvfp4", 4 + 8 / 16, id="nvfp4"),
        pytest.param("mxfp4", 4 + 8 / 32, id="mxfp4"),
        pytest.param("nf4", 4 + 32 / 64, id="nf4"),
        pytest.param("nf4_double", 4 + 8 / 64 + 32 / (64 * 256), id="nf4, twice"),
        pytest.param("bnb_8bit", 8, id="LLM.int8()"),
    ],
)
def test_bits_of_a_projection(name: str, bits: float) -> None:
    # scales of channels and tensors, group indices and code books are below 0.1 % of so wide a projection
    spec = requantized(build(QWEN_7B, where="c"), name)
    packed = {group.name.removesuffix(".weight") for group in spec.groups() if group.role == "mlp"}
    groups = [group for group in spec.groups() if group.name.startswith(tuple(packed))]
    n_params = sum(group.n_params for group in groups)
    assert 8 * sum(group.n_bytes(spec.stored_dtype) for group in groups) / n_params == pytest.approx(bits, rel=0.001)
    assert {named(spec, name).dtype for name in ("embed_tokens.weight", "lm_head.weight", "norm.weight")} == {None}


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("config", [SMALL, MIXTURE], ids=["dense", "mixture"])
def test_every_scheme_packs_every_model(config: dict[str, Any], name: str) -> None:
    plain = build(config, where="c")
    spec = requantized(plain, name)
    assert (spec.n_params, spec.n_layers, spec.exact, spec.quantization) == (plain.n_params, plain.n_layers, False, name)
    assert min(spec.off_by) >= 1
    assert [(caveat.rule, caveat.level) for caveat in spec.caveats] == [("KV025", "note")]
    assert spec.weight_bytes < plain.weight_bytes or name in ("f16", "bf16", "f32")
    assert all(not group.run_dtype for group in spec.groups() if find(name).format == "gguf")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("Q4-K-M", "q4_k_m"), ("Q4_K", "q4_k_m"), ("GPTQ-Int4", "gptq"), ("w4a16", "int4"), ("FP8_E4M3", "fp8"), ("bnb-4bit", "nf4")],
)
def test_names_as_people_write_them(asked: str, meant: str) -> None:
    first, second = (requantized(build(SMALL, where="c"), name) for name in (asked, meant))
    assert first.quantization == meant
    assert first.weight_bytes == second.weight_bytes


@pytest.mark.parametrize(
    ("asked", "hint"), [("int5", "did you mean 'int8' or 'int4'?"), ("q4_k_x", "did you mean 'q4_k"), ("zzz", "known: float32, float16")]
)
def test_unknown_names(asked: str, hint: str) -> None:
    with pytest.raises(RequestError, match=f"unknown element type '{asked}', and no quantization is called so") as raised:
        requantized(build(SMALL, where="c"), asked)
    assert raised.value.kind == "unknown_dtype"
    assert raised.value.hint.startswith(hint)


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


def test_eight_experts_have_rules_of_their_own() -> None:
    spec = requantized(build(MIXTURE, where="c"), "q4_k_m")
    kept = {name: named(spec, f"self_attn.{name}.weight").dtype for name in ("q_proj", "k_proj", "v_proj", "o_proj")}
    assert kept == {"q_proj": "q4_k", "k_proj": "q8_0", "v_proj": "q8_0", "o_proj": "q5_k"}
    assert named(spec, "block_sparse_moe.gate.weight").dtype == "float32"


def test_falcon_has_rules_of_its_own() -> None:
    config = SMALL | {"model_type": "falcon", "architectures": ["FalconForCausalLM"], "num_hidden_layers": 16}
    spec = requantized(build(config | {"tie_word_embeddings": False}, where="c"), "q4_k_m")
    downs = [next(group.dtype for group in layer.weights if group.name == "mlp.down_proj.weight") for layer in spec.layers()]
    assert (downs[:4], downs.count("q5_k"), downs[-2:]) == (["q6_k", "q5_k", "q4_k", "q4_k"], 7, ["q5_k", "q5_k"])
    assert named(spec, "lm_head.weight").dtype == "q8_0"
    assert named(requantized(build(config, where="c"), "q2_k"), "self_attn.o_proj.weight").dtype == "q2_k"


def test_towers_are_in_a_file_of_their_own() -> None:
    spec = requantized(load_model("gemma-3-4b"), "q4_k_m")
    assert {group.dtype for group in spec.groups() if group.role in ("vision", "projector")} == {"float16"}
    assert named(spec, "embed_tokens.weight").dtype == "q6_k"  # tied


def test_next_token_layers_are_packed_too() -> None:
    spec = requantized(load_model("glm-4.5-air"), "q8_0")
    assert {group.dtype for run in spec.mtp for group in run.layer.weights} == {"q8_0", "float32"}


def test_the_list_of_file_types_is_whole() -> None:
    short = {"q3_k", "q4_k", "q5_k"}
    assert set(NAMES) == set(mixes.MIXES) | short
    assert {module.scheme(name).name for name, module in _discover.claimants(SCHEMES, "NAMES").items()} == set(names())
