"""Pixtral's image encoder: rotary positions, RMS norms, gated feed-forwards, no biases.

Source: transformers 5.24 models/pixtral/modeling_pixtral.py; Agrawal et al. 2024, arXiv:2410.07073 §2.1.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, sides

MODEL_TYPES = ("pixtral",)


def build(cfg: Config) -> Tower:
    """Pixtral-12B's encoder unless the config says otherwise; a ``head_dim`` in the config is not read, as the class does."""
    hidden = cfg.integer("hidden_size", default=1024)
    block = Block(
        hidden,
        cfg.integer("intermediate_size", default=4096),
        qkv_bias=False,
        o_bias=False,
        mlp_bias=False,
        norm_bias=False,
        gated=True,
    )
    groups = (
        *conv("patch_conv", hidden, cfg.integer("num_channels", default=3), *sides(cfg, "patch_size", 16), bias=False),
        *norm("ln_pre", hidden),
        *blocks(cfg.integer("num_hidden_layers", default=24), block, name="transformer.layers"),
    )
    return Tower(groups, hidden)
