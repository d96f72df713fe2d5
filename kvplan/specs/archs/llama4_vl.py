"""Llama 4 with its image encoder.

Source: transformers 5.24 models/llama4/modeling_llama4.py (Llama4ForConditionalGeneration).
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.multimodal import joined, mlp_projector, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("llama4",)


def build(cfg: Config) -> ModelSpec:
    """The language model inside is whole: its own config decides on tied embeddings."""
    tied = cfg.sub("text_config").flag("tie_word_embeddings", default=False)
    text = language_model(cfg, kind="llama4_text", tied=tied)
    vision = tower(cfg, kind="llama4_vision_model")
    projector = mlp_projector(vision.width, text.hidden_size, bias=False)
    return joined(text, part("vision_model", vision.groups, "vision"), part("multi_modal_projector", projector, "projector"))
