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
_DELTA: dict[str, object] = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "num_hidden_layers": 4,
}  # fmt: skip
_WINDOW: dict[str, object] = {"num_hidden_layers": 4, "sliding_window": 16}

_MORE: dict[str, dict[str, object]] = {
    **dict.fromkeys(("olmo2", "glm4", "stablelm", "starcoder2"), SMALL),
    **dict.fromkeys(("gemma2", "cohere2"), SMALL | _WINDOW),
    "falcon": _HEADS | {"multi_query": True},
    "gptj": _GPT,
    "opt": _HEADS | {"ffn_dim": 96, "word_embed_proj_dim": 64},
    "mpt": {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 128, "vocab_size": 200},
    "gpt_oss": SMALL | _LOCAL | _WINDOW,
    "glm4_moe": SMALL | _ROUTED,
    "deepseek_v2": _HEADS | _LATENT | _ROUTED,
    "qwen3_next": SMALL | EXPERTS | _DELTA | {"shared_expert_intermediate_size": 32},
    "minimax": SMALL | _LOCAL | {"layer_types": ["linear_attention", "full_attention", "linear_attention"], "block_size": 16},
    "lfm2": SMALL | {"layer_types": ["conv", "full_attention", "conv"], "block_ff_dim": 96},
}  # fmt: skip

MODELS: dict[str, dict[str, object]] = {
    **{str(config["model_type"]): config for config in FAMILIES.values()},
    **{name: config | {"model_type": name} for name, config in _MORE.items()},
}
