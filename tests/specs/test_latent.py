"""Latent and sparse attention from config to bytes: published totals, float32 parts, layers that share, and refusals."""

from collections import Counter
from typing import Any

import pytest

from kvplan.core.model import ModelSpec
from kvplan.specs.build import build
from kvplan.specs.config import ConfigError

V3 = {
    "model_type": "deepseek_v3",
    "torch_dtype": "bfloat16",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "vocab_size": 129280,
}
V4_FLASH = {
    "model_type": "deepseek_v4",
    "torch_dtype": "bfloat16",
    "hidden_size": 4096,
    "num_hidden_layers": 43,
    "num_attention_heads": 64,
    "vocab_size": 129280,
    "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0],
}
SMALL = {
    "torch_dtype": "bfloat16",
    "hidden_size": 64,
    "intermediate_size": 96,
    "moe_intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "vocab_size": 100,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
}


def made(**config: Any) -> ModelSpec:
    return build(config, where="config.json")


def mtp_params(spec: ModelSpec) -> int:
    return sum(run.n_layers * group.n_params for run in spec.mtp for group in run.layer.weights)


def indexed(spec: ModelSpec) -> list[bool]:
    return [getattr(mixer, "indexer", None) is not None for layer in spec.layers() for mixer in layer.mixers]


def test_deepseek_v3_counts_671b_and_its_next_token_layer_apart() -> None:
    # DeepSeek-V3, arXiv:2412.19437 §2.2: 671B in all, 37B for each token (embeddings looked up, not counted there)
    spec = made(**V3)
    assert spec.n_params == 671_026_404_352
    assert spec.n_active_params == 37_552_282_624
    # one mixture layer, its joint of 2 H² and three norms, and embeddings and output projection stored again
    assert mtp_params(spec) == 11_610_067_968 + 2 * 129_280 * 7168


def test_router_and_correction_stay_in_float32() -> None:
    # 58 mixtures: 2 more bytes for each of 256 · 7168 router weights, and 4 for each correction, a buffer
    # as stored, only the correction is in float32
    spec = made(**V3)
    assert sum(group.run_bytes("bfloat16") for group in spec.groups()) - 2 * spec.n_params == 58 * (2 * 256 * 7168 + 4 * 256)
    assert spec.weight_bytes - 2 * spec.n_params == 58 * 4 * 256


def test_deepseek_v3_ideal_cache() -> None:
    # 61 layers · 4096 tokens · 8 sequences · (512 + 64) elements · 2 bytes
    elems = sum(
        mixer.kept_tokens(4096) * mixer.elems_per_token for layer in made(**V3).layers() for mixer in layer.mixers if mixer.kind == "mla"
    )
    assert 2 * 8 * elems == 2_302_672_896


def test_deepseek_v4_flash_sums_to_its_checkpoint() -> None:
    # the Hub counts 290,944,616,402 stored values: parameters, the next-token layer, token tables and routing corrections
    spec = made(**V4_FLASH)
    tables, corrections = 3 * 129280 * 6, (40 + 1) * 256
    assert spec.n_params == 284_332_230_231
    assert spec.n_params + mtp_params(spec) + tables + corrections == 290_944_616_402


def test_v2_tells_null_from_absent() -> None:
    latent = {**SMALL, "model_type": "deepseek_v2"}
    mla = {"kv_lora_rank": 24, "qk_rope_head_dim": 8, "qk_nope_head_dim": 12, "v_head_dim": 16}
    low_rank, plain = made(**latent, **mla), made(**latent, **mla, q_lora_rank=None)
    names = [Counter(group.name for group in spec.groups()) for spec in (low_rank, plain)]
    assert "self_attn.q_b_proj.weight" in names[0]
    assert "self_attn.q_proj.weight" in names[1]


def test_v2_without_latent_attention_has_heads() -> None:
    spec = made(**SMALL, model_type="deepseek_v2", use_mla=False, q_lora_rank=None, kv_lora_rank=None)
    assert {mixer.kind for layer in spec.layers() for mixer in layer.mixers} == {"full"}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, [True, True, True, True]),
        ({"index_topk_freq": 2}, [True, True, False, True]),
        ({"index_topk_freq": 2, "index_skip_topk_offset": 3}, [True, True, True, False]),
        ({"index_topk_pattern": "FSSF"}, [True, False, False, True]),
        ({"indexer_types": ["full", "shared", "full", "shared"], "index_topk_freq": 3}, [True, False, True, False]),
    ],
)
def test_which_layers_pick(keys: dict[str, Any], expected: list[bool]) -> None:
    assert indexed(made(**SMALL, model_type="glm_moe_dsa", **keys)) == expected


def test_a_layer_that_borrows_latents_may_pick_itself() -> None:
    spec = made(**SMALL, model_type="mistral_large4_text", kv_source_layers=[0, 0, 2, 0], index_topk_pattern="FFSS")
    assert [layer.kv_source for layer in spec.layers()] == [None, 0, None, 0]
    assert indexed(spec) == [True, True, False, False]


@pytest.mark.parametrize(
    ("model_type", "keys", "key"),
    [
        ("deepseek_v32", {"q_lora_rank": None}, "q_lora_rank"),
        ("deepseek_v3", {"num_experts_per_tok": 9}, "num_experts_per_tok"),
        ("deepseek_v3", {"num_local_experts": 4}, "n_routed_experts"),
        ("glm_moe_dsa", {"indexer_types": ["full", "half", "full", "full"]}, "indexer_types"),
        ("glm_moe_dsa", {"index_topk_pattern": "FFX"}, "index_topk_pattern"),
        ("glm_moe_dsa", {"indexer_types": ["full"]}, "indexer_types"),
        ("deepseek_v4", {"intermediate_size": 48, "compress_ratios": [0, 4, 64, 4]}, "compress_ratios"),
        ("deepseek_v4", {"intermediate_size": 48, "compress_ratios": [0, 4]}, "compress_ratios"),
        ("deepseek_v4", {"intermediate_size": 48, "mlp_layer_types": ["moe", "moe", "dense", "moe"]}, "mlp_layer_types"),
        ("deepseek_v4", {"intermediate_size": 48, "o_groups": 7}, "o_groups"),
        ("deepseek_v4", {"intermediate_size": 96}, "intermediate_size"),
        ("mistral_large4_text", {"kv_source_layers": [1, 1, 2, 3]}, "kv_source_layers"),
        ("mistral_large4_text", {"kv_source_layers": [0, 0, 1, 3]}, "kv_source_layers"),
        ("dots3_note_text", {"per_layer_config": {"7": {"v_head_dim": 4}}}, "per_layer_config.7"),
        ("dots3_note_text", {"per_layer_config": {"1": {"hidden_size": 4}}}, "per_layer_config.1.hidden_size"),
        ("kimi_linear", {"linear_attn_config": {"full_attn_layers": [1], "kda_layers": [1, 2, 3, 4]}}, "linear_attn_config.kda_layers"),
        ("kimi_linear", {"layer_types": ["full_attention", "sliding_attention", "linear_attention", "linear_attention"]}, "layer_types"),
    ],
)
def test_refusals_name_the_key(model_type: str, keys: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        made(**{**SMALL, "model_type": model_type, **keys})


def test_experts_that_do_nothing_are_said_to_weigh() -> None:
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_layers": 2, "ffn_hidden_size": 96, "expert_ffn_hidden_size": 48}
    ranks = {"kv_lora_rank": 24, "q_lora_rank": 20, "qk_rope_head_dim": 8, "qk_nope_head_dim": 12, "v_head_dim": 16}
    mixture = {"moe_topk": 3, "n_routed_experts": 8, "vocab_size": 100, "dtype": "bfloat16"}
    config = {"model_type": "longcat_flash", "architectures": ["LongcatFlashForCausalLM"], **sizes, **ranks, **mixture}
    (caveat,) = build({**config, "zero_expert_num": 4}, where="config.json").caveats
    assert (caveat.rule, caveat.message.split()[0]) == ("KV012", f"{2 * 4 * 2 * 48 * 64:,}")
    assert not build({**config, "zero_expert_num": 0}, where="config.json").caveats
