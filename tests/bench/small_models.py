"""Small models of more families than the tests trace, each by the name of its model type."""

from tests.verifier.families import EXPERTS, FAMILIES, SMALL

_HEADS = {key: value for key, value in SMALL.items() if key != "head_dim"}
_GPT: dict[str, object] = {
    "n_embd": 64, "n_layer": 2, "n_head": 4, "rotary_dim": 8, "vocab_size": 200, "n_positions": 128, "bos_token_id": 0, "eos_token_id": 0,
}  # fmt: skip
_LOCAL: dict[str, object] = {"num_local_experts": 4, "num_experts_per_tok": 2}
_ROUTED: dict[str, object] = {
    "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1,
    "n_shared_experts": 1,
}  # fmt: skip
_LATENT: dict[str, object] = {
    "kv_lora_rank": 32, "q_lora_rank": 48, "qk_rope_head_dim": 16, "qk_nope_head_dim": 16, "v_head_dim": 16, "num_key_value_heads": 4,
}  # fmt: skip
_MAMBA2: dict[str, object] = {
    "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16, "mamba_n_groups": 1, "mamba_expand": 2, "mamba_chunk_size": 16,
}  # fmt: skip
_DELTA: dict[str, object] = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "num_hidden_layers": 4,
}  # fmt: skip
_STATES: dict[str, object] = {"hidden_size": 64, "num_hidden_layers": 2, "state_size": 8, "vocab_size": 200, "time_step_rank": 4}
_WINDOW: dict[str, object] = {"num_hidden_layers": 4, "sliding_window": 16}

_MORE: dict[str, dict[str, object]] = {
    **dict.fromkeys(("olmo2", "glm4", "stablelm", "starcoder2", "nemotron", "phi"), SMALL),
    **dict.fromkeys(("gemma2", "cohere2"), SMALL | _WINDOW),
    "falcon": _HEADS | {"multi_query": True},
    "gptj": _GPT,
    "bloom": {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 200},
    "opt": _HEADS | {"ffn_dim": 96, "word_embed_proj_dim": 64},
    "mpt": {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 128, "vocab_size": 200},
    "gpt_oss": SMALL | _LOCAL | _WINDOW,
    "glm4_moe": SMALL | _ROUTED,
    "llama4_text": SMALL
    | {"num_local_experts": 4, "num_experts_per_tok": 1, "intermediate_size_mlp": 96, "attention_chunk_size": 16, "num_hidden_layers": 4},
    "deepseek_v2": _HEADS | _LATENT | _ROUTED,
    "falcon_mamba": _STATES,
    "jamba": _HEADS
    | EXPERTS
    | {
        "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1, "mamba_d_state": 8,
        "mamba_dt_rank": 4,
    },
    "falcon_h1": SMALL | _MAMBA2 | {"mamba_d_ssm": 128},
    "nemotron_h": SMALL
    | {
        "layers_block_type": ["mamba", "attention", "mlp"], "mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 16, "n_groups": 1,
        "chunk_size": 16,
    },
    "qwen3_next": SMALL | EXPERTS | _DELTA | {"shared_expert_intermediate_size": 32},
    "minimax": SMALL | _LOCAL | {"layer_types": ["linear_attention", "full_attention", "linear_attention"], "block_size": 16},
    "lfm2": SMALL | {"layer_types": ["conv", "full_attention", "conv"], "block_ff_dim": 96},
}  # fmt: skip

MODELS: dict[str, dict[str, object]] = {
    **{str(config["model_type"]): config for config in FAMILIES.values()},
    **{name: config | {"model_type": name} for name, config in _MORE.items()},
}
