"""Ovis 2's image encoder (AIMv2): gated blocks with RMS norms, then a head over a vocabulary of visual words.

Source: transformers 5.24 models/ovis2/modeling_ovis2.py (Ovis2VisionModel); Lu et al. 2024, arXiv:2405.20797 §3.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, n_patches, parameter, sides

MODEL_TYPES = ("ovis2_vision",)


def build(cfg: Config) -> Tower:
    """``hidden_stride``² patches go to the head at once; the indicator tokens have no visual word."""
    hidden, stride = cfg.integer("hidden_size", default=1024), cfg.integer("hidden_stride", default=1)
    qkv_bias, mlp_bias = cfg.flag("qkv_bias", default=False), cfg.flag("mlp_bias", default=False)
    block = Block(
        hidden,
        cfg.integer("intermediate_size", default=2816),
        qkv_bias=qkv_bias,
        o_bias=qkv_bias,
        mlp_bias=mlp_bias,
        norm_bias=False,
        gated=True,
    )
    words = cfg.integer("vocab_size", default=16384) - cfg.integer("num_visual_indicator_tokens", default=5)
    if words < 1:
        raise cfg.error("num_visual_indicator_tokens", "expected fewer than the vocab_size of visual words")
    groups = (
        *conv("embeddings.patch_embedding", hidden, cfg.integer("num_channels", default=3), *sides(cfg, "patch_size", 14)),
        parameter("embeddings.position_embedding.weight", n_patches(cfg, 224, 14), hidden),
        *norm("embeddings.rms_norm", hidden),
        *blocks(cfg.integer("num_hidden_layers", default=24), block, name="encoder.layers"),
        *norm("rms_norm", hidden),
        *linear("head_linear", words, hidden * stride**2, role="vision"),
        *norm("head_norm", words, bias=True),
    )
    return Tower(groups, hidden)
