"""The order in which families make their modules: what stands in front of the layers and behind them.

``a(b c)`` is a module ``a`` with ``b`` and ``c`` in it. Names are those of kvplan's weight groups; ``layers`` are the decoder's, which are
not split. Source: transformers 5.24 models/*/modeling_*.py.
"""

LIST, ROTARY = "layers", "rotary_emb"
DECODER = "model(embed_tokens layers norm rotary_emb) lm_head"
_POSITIONS = "model(embed_tokens embed_positions layers norm) lm_head"
_PLAIN = (
    "afmoe apertus apertus1p5_text arcee aria_text axk1 axk2 bailing_hybrid bamba beam bitnet codegen cohere cohere2 "
    "cohere2_moe cwm deepseek_v2 deepseek_v3 deepseek_v32 diffllama doge dory dots3_note_text ernie4_5 ernie4_5_moe exaone "
    "exaone4 exaone_moe falcon falcon_h1 falcon_mamba flex_olmo flint gemma gemma2 gemma3_text gemma4_unified_text glm glm4 "
    "glm4_moe glm4_moe_lite glm_moe_dsa gpt_neox gpt_neox_japanese gpt_oss gptj granite granitemoe granitemoehybrid "
    "granitemoeshared helium hunyuan_v1_dense hunyuan_v1_moe hy_v3 hyperclovax internlm3 iquestcoder jais2 jamba jetmoe "
    "kolibri1 laguna lara_mini llama llama4_text longcat_flash mamba mamba2 mellum mimo_v2_flash minicpm3 minimax minimax_m2 "
    "minimax_m3_vl_text ministral ministral3 mistral mistral4 mixtral moshi mpt nanochat nemotron nemotron_h olmo olmo2 olmo3 "
    "olmo_hybrid olmoe persimmon phi3 phimoe qwen2 qwen2_moe qwen3 qwen3_5_moe_text qwen3_5_text qwen3_moe qwen3_next "
    "recurrent_gemma rwkv sarvam_mla sarvam_moe seed_oss smollm3 solar_open stablelm starcoder2 vaultgemma xlstm youtu zamba "
    "zamba2 kimi_linear lfm2_moe dots1 dbrx"
)
KNOWN = {
    **dict.fromkeys(_PLAIN.split(), DECODER),
    **dict.fromkeys(("gpt2", "gpt-sw3", "gpt_bigcode", "gpt_neo", "xglm"), _POSITIONS),
    **dict.fromkeys(("lfm2", "lfm2_moe", "lfm3", "phi"), "model(embed_tokens layers rotary_emb norm) lm_head"),
    "mllama": "model(embed_tokens layers norm rotary_emb multi_modal_projector) lm_head",
    "bloom": "model(embed_tokens embed_layernorm layers norm) lm_head",
    "opt": "model(decoder(embed_tokens embed_positions project_out project_in norm layers)) lm_head",
    "modernbert-decoder": "model(embeddings(embed_tokens embed_norm) layers norm rotary_emb) head lm_head",
    **dict.fromkeys(("deepseek_v4", "hy_v4"), "model(embed_tokens layers norm rotary_emb hc_head) lm_head"),
    "gemma4_text": "model(embed_tokens layers norm rotary_emb embed_tokens_per_layer per_layer_model_projection per_layer_projection_norm) "
    "lm_head",
}
SCALED = dict.fromkeys(("gemma", "gemma2", "gemma3_text", "gemma4_text", "gemma4_unified_text", "vaultgemma"), 2) | {"minicpm3": 8}

TOWERS = ("gemma3", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe", "mistral3", "llava", "llama4", "mllama")
"""Families with a tower in front of the decoder, compared at published sizes: as long as the tower fits on the first device."""
