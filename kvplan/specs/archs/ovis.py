"""Ovis 2: the image becomes a distribution over visual words, which have embeddings like text.

Source: transformers 5.24 models/ovis2; Lu et al. 2024, arXiv:2405.20797.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import lm_head
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import parameter, part

MODEL_TYPES = ("ovis2",)


def build(cfg: Config) -> ModelSpec:
    """The table of visual words is as wide as the outer config's ``hidden_size``."""
    tied, width = cfg.flag("tie_word_embeddings", default=True), cfg.integer("hidden_size", default=1536)
    text = language_model(cfg, default_type="qwen2", tied=tied)
    if not tied:  # the class makes its own output projection of the outer config's sizes
        head = lm_head(cfg.integer("vocab_size", default=151643), width, tied=False)
        text = text._replace(weights=(*(group for group in text.weights if group.role != "lm_head"), *head))
    words = cfg.sub("vision_config").integer("vocab_size", default=16384)
    table = parameter("visual_embeddings_table.weight", words, width)
    return joined(text, part("vision_tower", tower(cfg, kind="ovis2_vision").groups, "vision"), (table._replace(role="projector"),))
