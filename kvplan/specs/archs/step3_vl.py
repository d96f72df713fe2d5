"""Step-3.7: an image encoder with a convolutional downsampler, one projection, a mixture of experts.

Source: transformers 5.24 models/step3p7.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("step3p7",)


def build(cfg: Config) -> ModelSpec:
    """Embeddings are tied only where the outer config says so."""
    text = language_model(cfg, kind="step3p5", tied=cfg.flag("tie_word_embeddings", default=False))
    vision = tower(cfg, kind="step3p5_vision")
    bias = cfg.flag("projector_bias", default=False)
    projector = linear("multi_modal_projector", text.hidden_size, vision.width, role="projector", bias=bias)
    return joined(text, part("vision_model", vision.groups, "vision"), projector)
