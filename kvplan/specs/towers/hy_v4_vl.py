"""Hunyuan 4's image encoder: patches with learned positions, plain blocks, two convolutions that merge neighbors.

Source: transformers 5.24 models/hy_v4_vl/modeling_hy_v4_vl.py (HYV4VLVisionModel).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter

MODEL_TYPES = ("hy_v4_vl_vision",)


def build(cfg: Config) -> Tower:
    """One position for each patch of a ``max_image_size`` square, and one more."""
    hidden, out = cfg.integer("hidden_size", default=1536), cfg.integer("out_hidden_size", default=6144)
    patch, side = cfg.integer("patch_size", default=16), cfg.integer("spatial_merge_size", default=2)
    positions = (cfg.integer("max_image_size", default=2048) // patch) ** 2 + 1
    merged = hidden * side**2
    groups = (
        *conv("embeddings.patch_embedding", hidden, cfg.integer("num_channels", default=3), patch, patch),
        parameter("embeddings.position_embedding.weight", positions, hidden),
        *blocks(cfg.integer("num_hidden_layers", default=40), Block(hidden, cfg.integer("intermediate_size", default=6144))),
        *conv("patch_merger.proj_conv", merged, hidden, side, side),
        *conv("patch_merger.proj_out", out, merged, 1, 1),
        parameter("patch_merger.image_newline", out),
        *norm("patch_merger.before_rms", hidden),
    )
    return Tower(groups, out)
