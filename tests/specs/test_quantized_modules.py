"""Which modules a quantization takes: mixtures of layouts, exceptions, ends of the model, encoders, next-token layers."""

import json
from pathlib import Path
from typing import Any

from kvplan.core.model import ModelSpec
from kvplan.specs.build import build
from tests.specs.quantized import PROJECTIONS, REST, dtypes, small
from tests.specs.test_published import config

ELEMS = sum(rows * cols for rows, cols in PROJECTIONS)
FP8, FP4, BF16 = "float8_e4m3fn", "float4_e2m1", "bfloat16"
W8, NVFP4 = {"num_bits": 8, "type": "float", "strategy": "channel"}, {"num_bits": 4, "type": "float", "group_size": 16}
MOE = {
    "model_type": "deepseek_v3",
    "architectures": ["DeepseekV3ForCausalLM"],
    "torch_dtype": "bfloat16",
    "hidden_size": 256,
    "intermediate_size": 512,
    "moe_intermediate_size": 128,
    "num_hidden_layers": 3,
    "first_k_dense_replace": 1,
    "num_attention_heads": 4,
    "vocab_size": 1000,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "kv_lora_rank": 64,
    "q_lora_rank": 64,
    "qk_rope_head_dim": 32,
    "qk_nope_head_dim": 64,
    "v_head_dim": 64,
}


def test_groups_of_compressed_tensors_hold_for_their_targets() -> None:
    groups = {
        "group_0": {"targets": ["re:.*self_attn.*"], "weights": W8},
        "group_1": {"targets": ["Linear"], "weights": NVFP4, "format": "nvfp4-pack-quantized"},
    }
    stored = dtypes(small({"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["model.layers.1.mlp.up_proj"]}))
    assert stored["self_attn.q_proj"] == [FP8, FP8]
    assert stored["mlp.up_proj"] == [FP4, BF16]


def test_listed_modules_have_each_an_algorithm_and_the_others_none() -> None:
    layers = {"model.layers.0.self_attn.q_proj": "FP8", "model.layers.1.mlp.up_proj": "NVFP4", "lm_head": "W4A16_NVFP4"}
    listed = {name: {"quant_algo": algorithm} for name, algorithm in layers.items()}
    spec = small({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": listed})
    stored = dtypes(spec)
    assert stored["self_attn.q_proj"] == [FP8, BF16]
    assert stored["mlp.up_proj"] == [BF16, FP4]
    assert [group.dtype for group in spec.weights if group.role == "lm_head"] == [FP4]


def test_caches_in_fp8_have_two_scales_a_layer() -> None:
    with_cache, without = (small({"quant_algo": "FP8", "kv_cache_quant_algo": kv}) for kv in ("FP8", None))
    assert with_cache.weight_bytes - without.weight_bytes == 2 * 2 * 4
    assert small({"quant_method": "modelopt", "kv_cache_quant_algo": "FP8"}).weight_bytes == REST + 2 * 2 * (4 + ELEMS)


def test_gptqmodel_names_its_exceptions() -> None:
    dynamic = {r"-:.*\.0\.self_attn.*": {}, r"+:.*down_proj.*": {"bits": 8}}
    stored = dtypes(small({"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": dynamic}))
    assert stored["self_attn.q_proj"] == [BF16, "int4"]
    assert stored["mlp.down_proj"] == ["int8", "int8"]


def test_auto_round_names_its_exceptions() -> None:
    extra = {"model.layers.1.mlp.up_proj": {"bits": 16}, "model.layers.0.mlp.up_proj": {"bits": 8}}
    stored = dtypes(small({"quant_method": "auto-round", "bits": 4, "extra_config": extra}))
    assert stored["mlp.up_proj"] == ["int8", BF16]


def test_gptq_of_some_modules_and_of_the_output_projection() -> None:
    listed = {"quant_method": "gptq", "bits": 4, "modules_in_block_to_quantize": [["self_attn.q_proj"], ["mlp.up_proj"]], "lm_head": True}
    spec = small(listed)
    assert {name for name, found in dtypes(spec).items() if found == ["int4", "int4"]} == {"self_attn.q_proj", "mlp.up_proj"}
    assert [group.dtype for group in spec.weights if group.role == "lm_head"] == ["int4"]


def test_torchao_by_name() -> None:
    by_name = {
        "_default": {"_type": "Int4WeightOnlyConfig", "_data": {}},
        "model.layers.0.mlp.up_proj": None,
        "re:.*embed_tokens": {"_type": "Int8WeightOnlyConfig", "_data": {}},
    }
    data = {"default": {"_type": "FqnToConfig", "_data": {"fqn_to_config": by_name}}}
    spec = small({"quant_method": "torchao", "quant_type": data})
    assert dtypes(spec)["mlp.up_proj"] == [BF16, "int4"]
    assert [group.dtype for group in spec.weights if group.role == "embedding"] == ["int8"]


def test_mlx_names_its_exceptions() -> None:
    stored = dtypes(small({"bits": 4, "group_size": 64, "model.layers.0.mlp.up_proj": {"bits": 8}, "model.layers.1.mlp.up_proj": False}))
    assert stored["mlp.up_proj"] == ["int8", BF16]


def test_bitsandbytes_takes_encoders_too_unless_told_not_to() -> None:
    vision = {
        "model_type": "siglip_vision_model",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    text = {"model_type": "gemma3_text", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "torch_dtype": "bfloat16"}
    quantization = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    data = model | {"vision_config": vision, "text_config": text | {"num_key_value_heads": 4, "head_dim": 16, "vocab_size": 100}}
    taken, told = (
        build(data | {"quantization_config": quantization | {"llm_int8_skip_modules": skip}}, where="c")
        for skip in (None, ["vision_tower", "multi_modal_projector"])
    )
    assert {group.dtype for group in taken.weights if group.name.endswith("self_attn.q_proj.weight")} == {"int8"}
    assert {group.dtype for group in taken.weights if "embedding" in group.name} == {None}
    assert [caveat.rule for caveat in taken.caveats] == ["KV024"]
    assert taken.off_by[1] > told.off_by[1]
    assert not told.caveats


def test_a_tied_output_projection_is_stored_with_the_embeddings() -> None:
    spec = small({"bits": 4, "group_size": 64}, tie_word_embeddings=True)
    assert [group.dtype for group in spec.weights if group.role in ("embedding", "lm_head")] == ["int4", None]


def test_a_sparse_checkpoint_is_an_upper_bound_and_says_so() -> None:
    groups = {"g": {"targets": ["Linear"], "weights": W8}}
    spec = small({"quant_method": "compressed-tensors", "config_groups": groups, "sparsity_config": {"format": "sparse-24-bitmask"}})
    assert [caveat.rule for caveat in spec.caveats] == ["KV023"]
    assert spec.off_by == (50, 2)


def test_next_token_layers_are_stored_like_the_others_but_for_their_ends() -> None:
    quantization = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    spec = build(MOE | {"num_nextn_predict_layers": 1, "quantization_config": quantization}, where="c")
    stored = {group.name: group.dtype for run in spec.mtp for group in run.layer.weights}
    assert stored["mlp.experts.up_proj.weight"] == FP8
    assert [stored[f"{name}.weight"] for name in ("embed_tokens", "shared_head.head", "eh_proj")] == [None, None, None]


def test_experts_in_four_bits_are_said_outside_of_the_quantization() -> None:
    quantization = {"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}
    stored = dtypes(build(MOE | {"expert_dtype": "fp4", "quantization_config": quantization}, where="c"))
    assert (stored["mlp.experts.up_proj"][-1], stored["mlp.shared_experts.up_proj"][-1]) == (FP4, FP8)


def quantized_roles(spec: ModelSpec) -> set[str]:
    return {group.role for group in spec.groups() if group.role != "scale" and (group.dtype or "").startswith(("float8", "float4", "int"))}


def test_every_file_of_the_optimizers_own_is_read(shared: Path) -> None:
    files = sorted((shared / "hub" / "configs").glob("*/*/hf_quant_config.json"))
    assert len(files) == 25
    for file in files:
        data = config(file.parent) | {"quantization_config": json.loads(file.read_text())["quantization"] | {"quant_method": "modelopt"}}
        spec = build(data, where=str(file))
        assert spec.quantization == "modelopt"
        assert quantized_roles(spec)


def test_what_real_lists_leave_alone(shared: Path) -> None:
    # names as they stand in modules_to_not_convert, ignore and exclude_modules of published repositories
    expected: dict[str, dict[str, Any]] = {
        "zai-org/GLM-5.1-FP8": {"self_attn.indexer.weights_proj": BF16, "mlp.gate": BF16, "self_attn.indexer.wk": FP8},
        "nvidia/DeepSeek-V3.1-NVFP4": {"self_attn.q_b_proj": BF16, "self_attn.o_proj": FP4, "mlp.experts.up_proj": FP4},
        "nvidia/Gemma-4-26B-A4B-NVFP4": {"self_attn.q_proj": BF16, "mlp.up_proj": BF16},
        "nvidia/MiniMax-M2.7-NVFP4": {"self_attn.q_proj": BF16, "block_sparse_moe.experts.up_proj": FP4},
        "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4": {"mixer.q_proj": BF16, "mixer.experts.up_proj": FP4},
        "moonshotai/Kimi-K2.5": {"self_attn.o_proj": BF16, "mlp.shared_experts.up_proj": BF16, "mlp.experts.up_proj": "int4"},
        "openai/gpt-oss-20b": {"self_attn.q_proj": BF16},
    }
    for hub_id, modules in expected.items():
        stored = dtypes(build(config(shared / "hub" / "configs" / hub_id), where=hub_id))
        assert {name: stored[name][-1] for name in modules} == modules, hub_id
