"""MiniMax-M3 with its image encoder: CLIP's blocks on 3-D patches, a projection of each patch, a fusion of neighbors.

Source: transformers 5.24 models/minimax_m3_vl.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.multimodal import joined, mlp_projector, tied_to_text, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("minimax_m3_vl",)


def build(cfg: Config) -> ModelSpec:
    """Patches are projected to the language model's width before ``spatial_merge_size``² of them are fused."""
    text = language_model(cfg, kind="minimax_m3_vl_text", tied=tied_to_text(cfg, default=False))
    vision = tower(cfg, kind="minimax_m3_vl_vision")
    inner, hidden = cfg.integer("projector_hidden_size", default=6144), text.hidden_size
    merged = hidden * cfg.sub("vision_config").integer("spatial_merge_size", default=2) ** 2
    projector = (
        *mlp_projector(vision.width, inner, hidden),
        *mlp_projector(merged, inner, hidden, name="merge_linear_"),
    )
    return joined(text, part("vision_tower", vision.groups, "vision"), part("multi_modal_projector", projector, "projector"))
