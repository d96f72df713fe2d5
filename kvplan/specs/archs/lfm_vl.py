"""LFM2-VL and LFM3-VL: an image encoder at native resolution, neighboring patches merged, two linear layers.

Source: transformers 5.24 models/{lfm2_vl,lfm3_vl}.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.multimodal import any_tower, joined, mlp_projector, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("lfm2_vl", "lfm3_vl")


def build(cfg: Config) -> ModelSpec:
    """LFM2-VL may norm the merged patches, LFM3-VL norms each before the merge; ``tie_embedding`` is the older name."""
    second = cfg.text("model_type") == "lfm2_vl"
    tied = cfg.flag("tie_word_embeddings", default=True)
    if second and cfg.has("tie_embedding"):
        tied = cfg.flag("tie_embedding")
    text = language_model(cfg, default_type="lfm2" if second else "lfm3", tied=tied)
    if second:
        vision = any_tower(cfg, default="siglip2_vision_model")
        merged = vision.width * cfg.integer("downsample_factor", default=2) ** 2
        normed = norm("layer_norm", merged, bias=True) if cfg.flag("projector_use_layernorm", default=True) else ()
    else:
        vision = tower(cfg, kind="lfm3_vl_vision")
        merged = vision.width * cfg.sub("vision_config").integer("spatial_merge_size", default=2) ** 2
        normed = norm("layer_norm", vision.width, bias=True)
    inner = cfg.integer("projector_hidden_size", default=2560 if second else 4096)
    layers = mlp_projector(merged, inner, text.hidden_size, bias=cfg.flag("projector_bias", default=True))
    return joined(text, part("vision_tower", vision.groups, "vision"), part("multi_modal_projector", (*normed, *layers), "projector"))
