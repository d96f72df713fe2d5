"""Parakeet's audio encoder (FastConformer): strided depthwise convolutions, then a conformer with relative positions.

Source: transformers 5.24 models/parakeet/modeling_parakeet.py (ParakeetEncoder); Rekesh et al. 2023, arXiv:2305.05084.
"""

from math import log2

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, linear, norm
from kvplan.specs.parts.tower import Block, Tower, conv, encoder_attention, parameter

MODEL_TYPES = ("parakeet_encoder",)


def build(cfg: Config) -> Tower:
    """Published sizes unless the config says otherwise."""
    hidden, n_layers = cfg.integer("hidden_size", default=1024), cfg.integer("num_hidden_layers", default=24)
    return Tower((*_subsampling(cfg, hidden), *copies(_layer(cfg, hidden), n_layers)), hidden)


def _subsampling(cfg: Config, hidden: int) -> Groups:
    width, kernel = cfg.integer("subsampling_conv_channels", default=256), cfg.integer("subsampling_conv_kernel_size", default=3)
    steps = int(log2(cfg.integer("subsampling_factor", default=8)))
    bins = cfg.integer("num_mel_bins", default=80) // cfg.integer("subsampling_conv_stride", default=2) ** steps
    later: Groups = (*conv("subsampling.depthwise", width, 1, kernel, kernel), *conv("subsampling.pointwise", width, width, 1, 1))
    return (
        *conv("subsampling.0", width, 1, kernel, kernel),
        *(copies(later, steps - 1) if steps > 1 else ()),
        *linear("subsampling.linear", hidden, width * bins, role="audio", bias=True),
    )


def _layer(cfg: Config, hidden: int) -> Groups:
    n_heads, inner = cfg.integer("num_attention_heads", default=8), cfg.integer("intermediate_size", default=4096)
    head_dim = cfg.integer("head_dim", default=max(1, hidden // n_heads))
    bias, conv_bias = cfg.flag("attention_bias", default=True), cfg.flag("convolution_bias", default=True)
    half: Groups = (
        *linear("feed_forward.linear1", inner, hidden, role="audio", bias=bias),
        *linear("feed_forward.linear2", hidden, inner, role="audio", bias=bias),
    )
    names = ("norm_feed_forward1", "norm_self_att", "norm_conv", "norm_feed_forward2", "norm_out")
    return (
        *copies(half, 2),
        *(group for name in names for group in norm(name, hidden, bias=True)),
        *encoder_attention("self_attn", Block(hidden, inner, qkv_bias=bias, o_bias=bias, inner=n_heads * head_dim)),
        *linear("self_attn.relative_k_proj", n_heads * head_dim, hidden, role="audio"),
        parameter("self_attn.bias_u", n_heads, head_dim),
        parameter("self_attn.bias_v", n_heads, head_dim),
        *conv("conv.pointwise_conv1", 2 * hidden, hidden, 1, bias=conv_bias),
        *conv("conv.depthwise_conv", hidden, 1, cfg.integer("conv_kernel_size", default=9), bias=conv_bias),
        *norm("conv.norm", hidden, bias=True),
        *conv("conv.pointwise_conv2", hidden, hidden, 1, bias=conv_bias),
    )
