"""Checkpoints on paper against the sizes of published ones."""

from typing import Any

import pytest

from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec, WeightGroup
from kvplan.core.units import GIB
from kvplan.specs import load_model
from kvplan.specs.build import build
from kvplan.specs.paper import find, names, requantized
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


def test_next_token_layers_are_packed_too() -> None:
    spec = requantized(load_model("glm-4.5-air"), "q8_0")
    assert {group.dtype for run in spec.mtp for group in run.layer.weights} == {"q8_0", "float32"}
