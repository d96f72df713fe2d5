"""MiniMax-M3's image encoder: CLIP's blocks and first norm, on 3-D patches with rotary positions.

Source: transformers 5.24 models/minimax_m3_vl/modeling_minimax_m3_vl.py (MiniMaxM3VLVisionModel).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv

MODEL_TYPES = ("minimax_m3_vl_vision",)


def build(cfg: Config) -> Tower:
    """Published sizes unless the config says otherwise."""
    hidden, side = cfg.integer("hidden_size", default=1280), cfg.integer("patch_size", default=14)
    frames, channels = cfg.integer("temporal_patch_size", default=2), cfg.integer("num_channels", default=3)
    groups = (
        *conv("embeddings.proj", hidden, channels, frames, side, side, bias=False),
        *norm("pre_layrnorm", hidden, bias=True),
        *blocks(cfg.integer("num_hidden_layers", default=32), Block(hidden, cfg.integer("intermediate_size", default=5120))),
    )
    return Tower(groups, hidden)
