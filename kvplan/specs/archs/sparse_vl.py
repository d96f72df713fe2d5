"""GLM-5-Next and Hunyuan 4 with their image encoders, whose mergers hand on features as wide as the language model.

Source: transformers 5.24 models/glm5_next, models/hy_v4_vl.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("glm5_next", "hy_v4_vl")


def build(cfg: Config) -> ModelSpec:
    """Embeddings are tied only where the outer config says so."""
    kind = cfg.text("model_type")
    text = language_model(cfg, kind=f"{kind}_text", tied=cfg.flag("tie_word_embeddings", default=False))
    name = "visual" if kind == "glm5_next" else "vision_tower"
    return joined(text, part(name, tower(cfg, kind=f"{kind}_vision").groups, "vision"))
