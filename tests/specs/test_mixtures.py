"""Mixtures of experts: what is active, what is refused, and which family a config is built by."""

from typing import Any

import pytest

from kvplan.core.model import ModelSpec
from kvplan.specs.build import build
from kvplan.specs.config import ConfigError

SIZES: dict[str, Any] = {
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "dtype": "bfloat16",
}


def spec(**keys: Any) -> ModelSpec:
    return build({**SIZES, **keys}, where="config.json")


def test_active_parameters_leave_out_idle_experts() -> None:
    few, all_of_them = spec(model_type="mixtral", num_experts_per_tok=2), spec(model_type="mixtral", num_experts_per_tok=8)
    assert all_of_them.n_active_params == all_of_them.n_params == few.n_params
    assert few.n_params - few.n_active_params == 4 * 6 * 3 * 64 * 48


def test_shared_experts_are_always_active() -> None:
    model = spec(model_type="qwen2_moe", num_experts=4, num_experts_per_tok=1, moe_intermediate_size=24, shared_expert_intermediate_size=40)
    assert model.n_params - model.n_active_params == 4 * 3 * 3 * 64 * 24


@pytest.mark.parametrize(
    ("keys", "at"),
    [
        ({"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 5}, "num_experts_per_tok"),
        ({"model_type": "mixtral", "num_local_experts": 0}, "num_local_experts"),
        ({"model_type": "hy_v3", "mlp_layer_types": ["dense", "sparse"]}, "mlp_layer_types"),
        ({"model_type": "hy_v3", "mlp_layer_types": ["dense", "sparse", "moe", "sparse"]}, "mlp_layer_types"),
        ({"model_type": "gpt_oss", "layer_types": ["full_attention"] * 3}, "layer_types"),
        ({"model_type": "gpt_oss", "sliding_window": None}, "sliding_window"),
        ({"model_type": "hunyuan_v1_moe", "num_experts": 4, "moe_topk": [1, 1, 5, 1]}, "moe_topk"),
        ({"model_type": "minimax_m1", "attn_type_list": [0, 1]}, "attn_type_list"),
        ({"model_type": "minimax_m1"}, "attn_type_list"),
        ({"model_type": "ernie4_5_vl_moe_text", "moe_intermediate_size": [24]}, "moe_intermediate_size"),
        ({"model_type": "arctic", "parallel_attn_mlp_res": True, "use_residual": False}, "use_residual"),
        (
            {"model_type": "grok-2", "num_experts": 8, "num_experts_per_tok": 2, "sliding_window_size": 8, "global_attn_every_n": 4},
            "sliding",
        ),
        ({"model_type": "zaya", "head_dim": 16, "num_experts_per_tok": 2}, "num_experts_per_tok"),
        ({"model_type": "inkling_text", "layer_types": ["full_attention"] * 4}, "layer_types"),
        ({"model_type": "laguna", "num_attention_heads_per_layer": [4]}, "num_attention_heads_per_layer"),
    ],
)
def test_contradictions_are_refused_by_key(keys: dict[str, Any], at: str) -> None:
    with pytest.raises(ConfigError, match=at):
        spec(**keys)


def test_the_model_class_overrules_a_foreign_model_type() -> None:
    grok = {"num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "residual_moe": True}
    by_class = spec(model_type="git", architectures=["Grok1ForCausalLM"], **grok)
    assert by_class.runs == spec(model_type="grok-2", architectures=["Grok1ForCausalLM"], **grok).runs
    assert {ffn.kind for ffn in by_class.runs[0].layer.ffns} == {"moe", "dense"}


def test_an_unknown_class_leaves_the_model_type_in_charge() -> None:
    assert spec(model_type="mixtral", architectures=["SomeoneElsesForCausalLM"]).n_params == spec(model_type="mixtral").n_params


@pytest.mark.parametrize(
    ("keys", "n_params"),
    [
        ({"model_type": "glm4_moe", "num_nextn_predict_layers": 1, "first_k_dense_replace": 0, "moe_intermediate_size": 24}, None),
        (
            {"model_type": "exaone_moe", "num_nextn_predict_layers": 1},
            2 * 64 * 64 + 2 * 64 * 32 + 2 * 16 + 3 * 64 * 48 + 2 * 64 * 64 + 5 * 64,
        ),
        ({"model_type": "ernie4_5_moe", "num_nextn_predict_layers": 1}, 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 48 + 2 * 64 * 64 + 4 * 64),
    ],
)
def test_next_token_layers_stand_apart(keys: dict[str, Any], n_params: int | None) -> None:
    model, without = spec(**keys), spec(**{**keys, "num_nextn_predict_layers": 0})
    assert model.n_params == without.n_params
    (run,) = model.mtp
    layer = without.runs[0].layer
    ends = sum(group.n_params for group in without.weights if group.role in ("embedding", "lm_head"))  # stored again
    alike = sum(group.n_params for group in layer.weights) + 2 * 64 * 64 + 3 * 64 + ends
    assert sum(group.n_params for group in run.layer.weights) == (n_params or alike)


def test_buffers_take_bytes_and_are_no_parameters() -> None:
    model = spec(model_type="minimax_m2", num_local_experts=8, num_experts_per_tok=2, head_dim=16)
    corrections = [group for group in model.groups() if group.name.endswith("e_score_correction_bias")]
    assert sum(group.n_params for group in corrections) == 0
    assert sum(group.n_bytes(model.stored_dtype) for group in corrections) == 4 * 8 * 2


@pytest.mark.parametrize("widths", [[], [16], [16, 8, 4]])
def test_ernie_vl_needs_two_widths_of_experts(widths: list[int]) -> None:
    text = {"model_type": "ernie4_5_vl_moe_text", "moe_intermediate_size": widths}
    with pytest.raises(ConfigError, match=r"text_config\.moe_intermediate_size: expected the widths of text and vision experts"):
        build({"model_type": "ernie4_5_vl_moe", "text_config": text}, where="config.json")
