"""dots.ocr: an image encoder trained from scratch and Qwen2's decoder, whose keys stand at the top.

Source: modeling_dots_ocr.py of rednote-hilab/dots.ocr.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import inner_or_flat, text_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("dots_ocr",)


def build(cfg: Config) -> ModelSpec:
    """The encoder's merger hands on features as wide as the decoder."""
    text = text_model(inner_or_flat(cfg), kind="qwen2", tied=cfg.flag("tie_word_embeddings", default=False))
    return joined(text, part("vision_tower", tower(cfg, kind="dots_vit").groups, "vision"))
