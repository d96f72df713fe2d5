"""Hunyuan-VL's image encoder: a large grid of learned positions, pre-norm blocks, a convolutional merger with learned marks.

Source: transformers 5.24 models/hunyuan_vl/modeling_hunyuan_vl.py (HunYuanVLVisionTransformer).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter

MODEL_TYPES = ("hunyuan_vl_vision",)


def build(cfg: Config) -> Tower:
    """``text_hidden_size`` is the language model's width, which the outer class writes into this config."""
    hidden, side = cfg.integer("hidden_size", default=1152), cfg.integer("patch_size", default=16)
    out, square = cfg.integer("text_hidden_size", default=3072), cfg.integer("spatial_merge_size", default=2)
    positions = (cfg.integer("max_image_size", default=2048) // side) ** 2 + 1
    groups = (
        *conv("embeddings.patch_embedding", hidden, cfg.integer("num_channels", default=3), side, side),
        parameter("embeddings.position_embedding.weight", positions, hidden),
        *blocks(cfg.integer("num_hidden_layers", default=27), Block(hidden, cfg.integer("intermediate_size", default=4304))),
        *conv("patch_merger.proj_conv", 2 * hidden, hidden, square, square),
        *conv("patch_merger.proj_out", 4 * hidden, 2 * hidden, 1, 1),
        *linear("patch_merger.mlp", out, 4 * hidden, role="vision", bias=True),
        parameter("patch_merger.image_newline", 4 * hidden),
        *(parameter(f"patch_merger.image_{mark}", out) for mark in ("begin", "end", "sep")),
        *norm("patch_merger.before_rms", hidden),
        *norm("patch_merger.after_rms", out),
    )
    return Tower(groups, out)
