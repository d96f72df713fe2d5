"""Small models of many families, each with what is special about its memory."""

SMALL: dict[str, object] = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "vocab_size": 200, "max_position_embeddings": 256, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
EXPERTS: dict[str, object] = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}

FAMILIES: dict[str, dict[str, object]] = {
    "llama: grouped queries": SMALL | {"model_type": "llama", "architectures": ["LlamaForCausalLM"]},
    "qwen2: biases": SMALL | {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]},
    "qwen3: norms of queries and keys": SMALL | {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]},
    "mistral: a window": SMALL | {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 16},
    "gemma3: windows in five layers of six": SMALL
    | {"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "num_hidden_layers": 6, "sliding_window": 16},
    "phi3: fused projections": SMALL | {"model_type": "phi3", "architectures": ["Phi3ForCausalLM"]},
    "gpt2: learned positions": {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128,
        "vocab_size": 200, "bos_token_id": 0, "eos_token_id": 0,
    },
    "gpt_neox: parallel residuals": SMALL | {"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"]},
    "mixtral: experts": SMALL | {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": 4},
    "qwen2_moe: a shared expert": SMALL
    | EXPERTS
    | {"model_type": "qwen2_moe", "architectures": ["Qwen2MoeForCausalLM"], "shared_expert_intermediate_size": 64},
    "qwen3_moe: many experts": SMALL | EXPERTS | {"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"]},
    "deepseek_v3: latent attention": {
        "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 64, "intermediate_size": 96,
        "moe_intermediate_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 200,
        "n_routed_experts": 8, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "kv_lora_rank": 32,
        "q_lora_rank": 48, "qk_rope_head_dim": 16, "qk_nope_head_dim": 16, "v_head_dim": 16, "pad_token_id": 0, "bos_token_id": 1,
        "eos_token_id": 2,
    },
    "granitemoehybrid: states and attention": SMALL
    | {
        "model_type": "granitemoehybrid", "architectures": ["GraniteMoeHybridForCausalLM"], "shared_intermediate_size": 64,
        "num_local_experts": 4, "num_experts_per_tok": 2, "layer_types": ["mamba", "attention", "mamba"], "mamba_n_heads": 8,
        "mamba_d_head": 16, "mamba_d_state": 16, "mamba_n_groups": 1, "mamba_expand": 2, "mamba_chunk_size": 16,
    },
    "mamba2: states alone": {
        "model_type": "mamba2", "architectures": ["Mamba2ForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64, "num_heads": 8,
        "head_dim": 16, "n_groups": 1, "state_size": 16, "vocab_size": 200, "chunk_size": 16,
    },
}  # fmt: skip
