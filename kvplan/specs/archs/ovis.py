"""Ovis 2: the image becomes a distribution over visual words, which have embeddings like text.

Source: transformers 5.24 models/ovis2; Lu et al. 2024, arXiv:2405.20797.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.multimodal import joined, tower
from kvplan.specs.nested import language_model
from kvplan.specs.tower import parameter, part

MODEL_TYPES = ("ovis2",)


def build(cfg: Config) -> ModelSpec:
    """The table of visual words is as wide as the outer config's ``hidden_size``."""
    text = language_model(cfg, default_type="qwen2", tied=cfg.flag("tie_word_embeddings", default=True))
    words = cfg.sub("vision_config").integer("vocab_size", default=16384)
    table = parameter("visual_embeddings_table.weight", words, cfg.integer("hidden_size", default=1536))
    return joined(text, part("vision_tower", tower(cfg, kind="ovis2_vision").groups, "vision"), (table._replace(role="projector"),))
