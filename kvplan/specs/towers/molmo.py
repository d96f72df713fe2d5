"""Molmo 2's image encoder: a class-free vision transformer whose positions are counted by the config.

Source: transformers 5.24 models/molmo2/modeling_molmo2.py (Molmo2VisionModel).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter, sides

MODEL_TYPES = ("molmo2_vision",)


def build(cfg: Config) -> Tower:
    """``image_*`` are the published names of sizes."""
    hidden, side = cfg.integer("hidden_size", default=1152), cfg.integer("image_patch_size", "patch_size", default=14)
    key = "image_default_input_size" if cfg.has("image_default_input_size") else "image_size"
    height, width = sides(cfg, key, 378)
    positions = cfg.integer("image_num_pos", "num_position_embeddings", default=max(1, (height // side) * (width // side)))
    n_heads, head_dim = cfg.integer("num_attention_heads", default=16), cfg.integer("head_dim", default=72)
    bias = cfg.flag("attention_bias", default=True)
    block = Block(
        hidden,
        cfg.integer("intermediate_size", default=4304),
        qkv_bias=bias,
        o_bias=bias,
        inner=n_heads * head_dim,
        kv_inner=cfg.integer("num_key_value_heads", default=16) * head_dim,
    )
    groups = (
        parameter("positional_embedding", positions, hidden),
        *conv("patch_embedding", hidden, cfg.integer("num_channels", default=3), side, side),
        *blocks(cfg.integer("num_hidden_layers", default=25), block),
    )
    return Tower(groups, hidden)
