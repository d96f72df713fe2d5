"""Recurrent families: what their layers keep, against shapes that engines print, and what their adapters refuse."""

import json
from pathlib import Path
from typing import Any

import pytest

from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.specs.build import build

CASES = Path(__file__).parent.parent / "data" / "families"


def config(family: str, case: int, **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CASES / f"{family}.json").read_text())[case]["config"]
    return {key: value for key, value in {**found, **changes}.items() if value is not ...}


def states(spec: ModelSpec) -> set[tuple[int, int]]:
    mixers: list[Any] = [mixer for layer in spec.layers() for mixer in layer.mixers]
    return {(mixer.state_elems, mixer.conv_elems) for mixer in mixers if hasattr(mixer, "state_elems")}


@pytest.mark.parametrize(
    ("family", "case", "state", "conv"),
    [
        pytest.param("mamba", 0, 80 * 16, 80 * 3, id="mamba"),
        pytest.param("mamba2", 0, 8 * 8 * 128, 2112 * 3, id="mamba2"),
        pytest.param("jamba", 1, 96 * 8, 96 * 2, id="jamba"),
        pytest.param("bamba", 1, 6 * 16 * 16, 160 * 2, id="bamba"),
        pytest.param("falcon_h1", 2, 4 * 8 * 256, 544 * 3, id="falcon_h1"),
        pytest.param("zamba", 1, 4 * 24 * 8, 96 * 2, id="zamba"),
        pytest.param("zamba", 3, 4 * 24 * 16, 160 * 2, id="zamba2"),
        pytest.param("nemotron_h", 1, 4 * 16 * 16, 128 * 2, id="nemotron_h"),
        pytest.param("granitemoehybrid", 1, 8 * 8 * 16, 128 * 2, id="granitemoehybrid"),
        pytest.param("qwen3_next", 0, 4 * 8 * 16, 96 * 3, id="qwen3_next"),
        pytest.param("olmo_hybrid", 1, 4 * 12 * 24, 144 * 2, id="olmo_hybrid"),
        pytest.param("lfm2", 1, 0, 32 * 3, id="lfm2"),
        pytest.param("rwkv", 0, 3 * 32, 2 * 32, id="rwkv"),
        pytest.param("recurrent_gemma", 1, 48, 48 * 2, id="recurrent_gemma"),
        pytest.param("xlstm", 0, 2 * 32 * 64 + 2 * 32 + 2, 0, id="xlstm"),
    ],
)
def test_states_as_transformers_shapes_them(family: str, case: int, state: int, conv: int) -> None:
    """Source: shapes of the caches of transformers 5.24 for these configs; of each convolution's kernel it keeps one input more."""
    assert states(build(config(family, case), where=family)) == {(state, conv)}


def test_states_as_vllm_shapes_them() -> None:
    """Source: MambaSpec shapes of vLLM 0.33 for Granite-4.0-H-Small and Qwen3-Next-80B-A3B, one rank."""
    granite = {"hidden_size": 4096, "mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4}
    qwen = {"linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128}
    assert states(build(config("granitemoehybrid", 0, **granite), where="")) == {(128 * 64 * 128, 3 * 8448)}
    assert states(build(config("qwen3_next", 0, **qwen), where="")) == {(32 * 128 * 128, 3 * 8192)}


def test_one_group_of_b_and_c_is_whole_on_each_rank() -> None:
    one, two = (build(config("bamba", 0, mamba_n_groups=n), where="") for n in (1, 2))
    shards = [next(g.shard for g in spec.groups() if g.name == "mamba.in_proj.bc.weight") for spec in (one, two)]
    assert shards == ["replicated", "column"]


def test_shared_blocks_count_once_and_keep_a_cache_at_each_place() -> None:
    once, often = (build(config("zamba", 1, tie_word_embeddings=tied), where="") for tied in (True, False))
    block = sum(group.n_params for group in once.weights if group.name.startswith("shared_transformer"))
    assert often.n_params - once.n_params == block + once.vocab_size * once.hidden_size
    assert [len(layer.mixers) for layer in once.layers()] == [1, 2, 2, 1]


def test_the_config_says_the_type_of_the_state() -> None:
    spec = build(config("qwen3_next", 3), where="")
    assert {m.state_dtype for layer in spec.layers() for m in layer.mixers if m.kind == "gated_delta"} == {"float32"}


@pytest.mark.parametrize(
    ("family", "case", "changes", "says"),
    [
        pytest.param("mamba2", 0, {"num_heads": 7}, "num_heads: expected heads that fill 64 channels", id="heads"),
        pytest.param("mamba2", 0, {"n_groups": 3}, "n_groups: expected a divisor", id="groups"),
        pytest.param("mamba", 0, {"hidden_size": ...}, "hidden_size: missing", id="no size"),
        pytest.param("mamba", 0, {"expand": 0}, "expand: expected a factor", id="no channels"),
        pytest.param("jamba", 0, {"attn_layer_offset": 8}, "attn_layer_offset: expected less than", id="offset"),
        pytest.param("bamba", 0, {"attn_layer_indices": [9]}, "attn_layer_indices: expected layers below", id="layer index"),
        pytest.param("bamba", 0, {"mamba_d_head": 9}, "mamba_n_heads: expected heads that fill", id="head width"),
        pytest.param("zamba", 1, {"layers_block_type": ["mamba", "conv"]}, "layers_block_type: unknown kind of layer 'conv'", id="kind"),
        pytest.param("zamba", 3, {"n_mamba_heads": 5}, "n_mamba_heads: expected a divisor", id="zamba heads"),
        pytest.param("zamba", 1, {"n_mamba_heads": 5}, "n_mamba_heads: expected a divisor", id="zamba 1 heads"),
        pytest.param("zamba", 0, {"num_key_value_heads": 3}, "num_key_value_heads: expected a divisor", id="kv heads"),
        pytest.param("nemotron_h", 1, {"hybrid_override_pattern": "MX"}, "unknown kind of layer 'X'", id="sign"),
        pytest.param("nemotron_h", 1, {"hybrid_override_pattern": "M*"}, "expected one item for each of 7 layers", id="layers"),
        pytest.param("nemotron_h", 1, {"hybrid_override_pattern": ...}, "layers_block_type: missing", id="no pattern"),
        pytest.param("qwen3_next", 0, {"linear_num_value_heads": 5}, "linear_num_value_heads: expected a multiple", id="value heads"),
        pytest.param("qwen3_next", 0, {"num_experts_per_tok": 9}, "num_experts_per_tok", id="experts"),
        pytest.param("qwen3_next", 3, {"mamba_ssm_dtype": "float17"}, "mamba_ssm_dtype", id="state type"),
        pytest.param("lfm2", 3, {"layer_types": ...}, "layer_types: missing", id="lfm2-moe kinds"),
        pytest.param("olmo_hybrid", 0, {"layer_types": ["linear_attention"] * 5}, "expected layers of both kinds", id="one kind"),
        pytest.param("olmo_hybrid", 1, {"linear_num_value_heads": 3}, "linear_num_value_heads: expected a multiple", id="olmo heads"),
        pytest.param("recurrent_gemma", 0, {"lru_width": 33}, "lru_width: expected a multiple", id="blocks"),
        pytest.param("recurrent_gemma", 0, {"block_types": ["rnn"]}, "block_types: expected a pattern", id="pattern"),
        pytest.param("xlstm", 0, {"num_heads": 3}, "num_heads: expected a divisor", id="mlstm heads"),
        pytest.param("xlstm", 0, {"embedding_dim": 64}, "embedding_dim: expected hidden_size", id="two widths"),
        pytest.param("openelm", 1, {"num_kv_heads": [2, 3]}, "num_kv_heads: layer 1: expected a divisor", id="openelm heads"),
        pytest.param("openelm", 1, {"ffn_multipliers": [1, 2, 3]}, "ffn_multipliers: expected a number, two, or one", id="factors"),
        pytest.param("qwen4_exp", 0, {"ple_layer_ids": [2]}, "ple_layer_ids: expected linear_attention", id="n-grams"),
        pytest.param("qwen4_exp", 0, {"ple_embed_dim": 33}, "ple_embed_dim: expected a multiple", id="n-gram heads"),
        pytest.param("qwen4_exp", 0, {"indexer_kv_heads": 2}, "indexer_kv_heads: expected 1", id="indexer heads"),
        pytest.param("qwen4_exp", 0, {"indexer_budget": 33}, "indexer_budget: expected a multiple", id="indexer budget"),
    ],
)
def test_contradictions_are_refused(family: str, case: int, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(RequestError) as caught:
        build(config(family, case, **changes), where="config.json")
    assert says in f"{caught.value.message} {caught.value.hint}"
