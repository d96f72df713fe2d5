"""Qwen's vision-language models, from Qwen2-VL on, and those with the same encoder: its merger projects into the language model.

Source: transformers 5.24 models/{qwen2_vl,qwen2_5_vl,qwen3_vl,qwen3_vl_moe,qwen3_5,qwen3_5_moe,qwen4_exp,cohere_compass,
cosmos3_omni}; Wang et al. 2024, arXiv:2409.12191.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.multimodal import joined, tied_to_text, tower
from kvplan.specs.parts.nested import inner_or_flat, language_model, text_model
from kvplan.specs.parts.tower import part

_LIKE = {
    "qwen2_vl": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen3_vl": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen4_exp": "qwen4_exp_text",
    "cohere_compass": "cohere_compass_text",
}
_FLAT = ("qwen2_vl", "qwen2_5_vl")
MODEL_TYPES = (
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3_vl",
    "qwen3_vl_moe",
    "qwen3_5",
    "qwen3_5_moe",
    "qwen4_exp",
    "cohere_compass",
    "cosmos3_omni",
)


def build(cfg: Config) -> ModelSpec:
    """The first two generations may have the language model's keys at the top, and tie embeddings as these say."""
    kind = cfg.text("model_type")
    if kind == "cosmos3_omni":
        kind = "qwen3_vl"
    if kind in _FLAT:
        tied = tied_to_text(cfg, default=False)
        text = text_model(inner_or_flat(cfg), kind=f"{kind}_text", like=_LIKE[kind], tied=tied)
    else:
        text = language_model(cfg, kind=f"{kind}_text", like=_LIKE[kind], tied=cfg.flag("tie_word_embeddings", default=False))
    return joined(text, part("visual", tower(cfg, kind=f"{kind}_vision").groups, "vision"))
