"""What ``tp_plan="auto"`` shards in each family, as pieces of a layer.

Source: transformers 5.24 models/*/configuration_*.py
(base_model_tp_plan), ``_tp_plan`` of models/*/modeling_*.py, distributed/mixin.py (init_parallel_plans adds the embedding).
"""

from typing import Literal, NamedTuple

Piece = Literal["attention", "gathered", "latent", "mlp", "wide_mlp", "shared", "experts", "embedding", "head"]
Side = Literal["column", "row"]


class TpPlan(NamedTuple):
    """Pieces that are split over the ranks, and other modules by the last part of their name.

    ``attention`` and ``latent`` split heads; ``gathered`` and ``wide_mlp`` split weights alone: their outputs are put together again before
    they are used.
    """

    pieces: frozenset[Piece]
    others: tuple[tuple[str, Side], ...] = ()


_LETTERS: dict[str, Piece] = {
    "a": "attention",
    "A": "gathered",
    "l": "latent",
    "m": "mlp",
    "M": "wide_mlp",
    "s": "shared",
    "x": "experts",
    "e": "embedding",
    "h": "head",
}

_FAMILIES = {
    "ameh": (
        "apertus apertus1p5_text arcee nemotron jais2 glmasr qwen3_asr moss_transcribe_diarize voxtral_realtime instructblip "
        "cohere cohere2 cohere_compass_text aya_vision cohere2_vision deepseek_vl deepseek_vl_hybrid exaone4 gemma gemma2 "
        "gemma3_text vaultgemma gemma3n_text gemma4_unified_text paligemma gemma3 shieldgemma2 gemma4_unified granite "
        "hyperclovax granite_speech granite_speech_plus idefics2 idefics3 smolvlm internvl qianfan_ocr janus llama exaone "
        "internlm3 iquestcoder llava llava_next llava_next_video llava_onevision vipllava video_llava minicpmv4_7 mistral "
        "ministral ministral3 video_llama_3 exaone4_5 hyperclovax_vision_v2 got_ocr2 pp_chart2table paddleocr_vl "
        "granite_docling olmo ovis2 mistral3 lighton_ocr qwen2 qwen3 qwen2_5_omni qwen2_5_omni_thinker qwen2_vl qwen2_5_vl "
        "cohere_compass seed_oss ernie4_5 helium granite4_vision smollm3 cwm nanochat cosmos3_edge starcoder2 phi gpt_neox gptj "
        "codegen"
    ),
    "eh": "bamba diffllama dory falcon_h1 gpt_oss hunyuan_v1_dense lfm2 lfm3 lfm2_vl lfm3_vl qwen3_vl cosmos3_omni hunyuan_vl",
    "msxeh": "bailing_hybrid deepseek_v3 sarvam_mla mistral4 axk1 kimi_linear kimi_k25 mistral_large4 flint",
    "amsxeh": "unlimited_ocr ernie4_5_moe hy_v3 glm4_moe sarvam_moe dots1 glm4v_moe llama4_text",
    "amxeh": "cohere2_moe exaone_moe mellum qwen2_moe qwen3_moe qwen3_omni_moe_thinker qwen3_vl_moe gemma4_text",
    "aMeh": "glm glm4 glm4v glm46v glm_ocr glmga",
    "AMeh": "phi3 phi4_multimodal",
    "Axeh": "minimax_m3_vl_text minimax_m3_vl minimax_m2 olmoe flex_olmo",
    "xeh": "afmoe deepseek_v4 hunyuan_v1_moe phimoe granitemoe granitemoeshared granitemoehybrid jamba lfm2_moe",
    "ame": "qwen2_audio audioflamingo3 musicflamingo voxtral",
    "lmsxeh": "deepseek_v2 deepseek_v32 glm_moe_dsa",
    "axeh": "solar_open minimax mixtral",
    "asxeh": "kolibri1 aria_text aria",
    "Ameh": "olmo2 olmo3 olmo_hybrid",
    "lmxeh": "glm4_moe_lite",
    "lmeh": "minicpm3",
    "meh": "youtu",
    "h": "dbrx",
    "xe": "nemotron_h",
}
_LINEAR: tuple[tuple[str, Side], ...] = tuple(
    (name, "column") for name in ("in_proj_a", "in_proj_b", "in_proj_qkv", "in_proj_z", "in_proj_ba", "in_proj_qkvz", "out_proj")
)
_OTHERS: dict[str, tuple[str, tuple[tuple[str, Side], ...]]] = {
    **dict.fromkeys(("minicpmv4_6", "minicpm_ocr", "qwen3_5_text", "qwen3_5"), ("ameh", _LINEAR)),
    **dict.fromkeys(("qwen3_5_moe_text", "qwen3_5_moe"), ("asxeh", _LINEAR)),
    "qwen3_next": ("amsxeh", _LINEAR),
    "lara_mini": ("asxeh", (("out_proj", "column"),)),
    "laguna": ("amsxeh", (("g_proj", "column"),)),
    "step3p7": ("Axeh", (("g_proj", "column"),)),
    "dots3_note_text": ("lmsxeh", (("g_proj", "column"),)),
    "beam": ("amxeh", (("gate_proj", "column"), ("gate_bias", "column"))),
    "mimo_v2_flash": ("amxeh", (("sinks", "column"),)),
    "granite_swa": ("ameh", (("sinks", "column"),)),
    "granitemoe_swa": ("axeh", (("sinks", "column"),)),
}


_WITHOUT = (
    "bart mbart pegasus plbart mvp blenderbot blenderbot-small m2m_100 bigbird_pegasus pegasus_x led bert camembert data2vec- "
    "text ernie roberta xlm-roberta roberta-prelayernorm megatron-bert xlm-roberta-xl biogpt xglm bitnet blip-2 "
    "instructblipvideo bloom chameleon cpmant ctrl falcon gpt2 gpt-sw3 gpt_bigcode openai-gpt gpt_neo gpt_neox_japanese git "
    "jetmoe mamba falcon_mamba mamba2 fsmt marian mllama mllama_text_model modernbert-decoder molmo2 moonshine mpt fuyu nllb- "
    "moe opt persimmon recurrent_gemma rwkv stablelm t5 mt5 umt5 longt5 switch_transformers trocr whisper speech_to_text "
    "xlstm zamba zamba2 zaya"
)
WITHOUT = frozenset(_WITHOUT.split())
"""Families without a plan, which Transformers refuses."""


def tp_plan(model_type: str) -> TpPlan | None:
    """The plan of a family. None where it has none, or nobody entered it."""
    letters, others = _OTHERS.get(model_type) or (_KNOWN.get(model_type, ""), ())
    return TpPlan(frozenset(_LETTERS[letter] for letter in letters), others) if letters else None


_KNOWN = {name: letters for letters, names in _FAMILIES.items() for name in names.split()}
