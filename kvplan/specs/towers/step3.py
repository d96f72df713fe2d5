"""Step3's image encoder: learned positions and rotation, learned scales, two strided convolutions at the end.

Source: transformers 5.24 models/step3p7/modeling_step3p7.py (Step3p7VisionModel).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter, scaled

MODEL_TYPES = ("step3p5_vision",)


def build(cfg: Config) -> Tower:
    """``width``, ``layers`` and ``heads`` are the published names; the feed-forward is int(hidden · mlp_ratio) wide."""
    hidden, side = cfg.integer("width", "hidden_size", default=1536), cfg.integer("patch_size", default=14)
    positions = (cfg.integer("image_size", default=728) // side) ** 2
    block = Block(hidden, scaled(cfg, "mlp_ratio", hidden, default=8960 / 1536), layer_scales=2)
    groups = (
        *conv("embeddings.patch_embedding", hidden, cfg.integer("num_channels", default=3), side, side, bias=False),
        parameter("embeddings.position_embedding.weight", positions, hidden),
        *norm("pre_layernorm", hidden, bias=True),
        *blocks(cfg.integer("layers", "num_hidden_layers", default=47), block),
        *conv("downsampler1", 2 * hidden, hidden, 3, 3),
        *conv("downsampler2", 4 * hidden, 2 * hidden, 3, 3),
    )
    return Tower(groups, 4 * hidden)
