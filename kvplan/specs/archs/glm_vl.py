"""GLM's vision-language models, from GLM-4.1V to GLM-OCR: an image and video encoder with its own merger.

Source: transformers 5.24 models/{glm4v,glm4v_moe,glm46v,glmga,glm_ocr}; GLM-V team 2025, arXiv:2507.01006.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.multimodal import any_tower, joined, tied_to_text, tower
from kvplan.specs.parts.nested import amended, filled, inner_or_flat, text_model
from kvplan.specs.parts.tower import part

_LIKE = {"glm4v_text": "glm4", "glm_ocr_text": "glm4"}
_FIXED = ("glm4v", "glm4v_moe", "glm_ocr")
MODEL_TYPES = ("glm4v", "glm4v_moe", "glm46v", "glmga", "glm_ocr")


def build(cfg: Config) -> ModelSpec:
    """GLM-4.6V may wrap either size's language model; it names which."""
    kind = cfg.text("model_type")
    fixed = kind in _FIXED
    text_type = f"{kind}_text" if fixed else cfg.sub("text_config").text("model_type", default="glm4v_text")
    tied = tied_to_text(cfg, default=False) if fixed else cfg.flag("tie_word_embeddings", default=False)
    text = text_model(_text_config(cfg, text_type), kind=text_type, like=_LIKE.get(text_type, ""), tied=tied)
    vision = tower(cfg, kind=f"{kind}_vision") if fixed else any_tower(cfg, default="glm4v_vision")
    return joined(text, part("visual", vision.groups, "vision"))


def _text_config(cfg: Config, text_type: str) -> Config:
    """The language model's config; in the dense ones the head's width has no default and the biases on q, k and v are fixed."""
    inner = inner_or_flat(cfg)
    if text_type not in _LIKE:
        return inner
    text = filled(inner, text_type)
    width = max(1, text.integer("hidden_size") // text.integer("num_attention_heads"))
    return amended(text, head_dim=text.integer("head_dim", default=width), attention_bias=text_type == "glm4v_text")
