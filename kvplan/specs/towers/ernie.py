"""ERNIE 4.5 VL's image encoder: Qwen2-VL's blocks on plain patches, rotary positions.

Source: transformers 5.24 models/ernie4_5_vl_moe (Ernie4_5_VLMoeVisionTransformerPretrainedModel).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv

MODEL_TYPES = ("ernie4_5_vl_moe_vision",)


def build(cfg: Config) -> Tower:
    """The resampler outside merges the patches; the width stays ``hidden_size``."""
    hidden, side = cfg.integer("hidden_size", default=1280), cfg.integer("patch_size", default=14)
    block = Block(hidden, cfg.integer("intermediate_size", default=5120))
    groups = (
        *conv("patch_embed.proj", hidden, cfg.integer("in_channels", default=3), side, side, bias=False),
        *blocks(cfg.integer("depth", "num_hidden_layers", default=32), block, name="blocks"),
        *norm("ln", hidden, bias=True),
    )
    return Tower(groups, hidden)
