"""Phi-4-multimodal's audio encoder: strided convolutions, then a conformer with gated convolutions and relative biases.

Source: transformers 5.24 models/phi4_multimodal/modeling_phi4_multimodal.py (Phi4MultimodalAudioModel); arXiv:2503.01743 §2.
"""

from math import log2

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, linear, norm
from kvplan.specs.parts.tower import Block, Tower, conv, encoder_attention, parameter

MODEL_TYPES = ("phi4_multimodal_audio",)


def build(cfg: Config) -> Tower:
    """Published sizes unless the config says otherwise."""
    hidden, n_heads = cfg.integer("hidden_size", default=1024), cfg.integer("num_attention_heads", default=16)
    distance = cfg.integer("bias_max_distance", default=1000)
    buckets = distance if cfg.flag("bias_symmetric", default=False) else 2 * distance
    groups = (
        *_subsampling(cfg, hidden),
        parameter("relative_attention_bias_layer.bias_values.weight", buckets, n_heads),
        *copies(_layer(cfg, hidden), cfg.integer("num_blocks", default=24)),
    )
    return Tower(groups, hidden)


def _subsampling(cfg: Config, hidden: int) -> Groups:
    """log2(``time_reduction``) convolutions of stride 2: a full one, then depthwise ones each with a pointwise."""
    width, steps = cfg.integer("nemo_conv_channels", default=1024), int(log2(cfg.integer("time_reduction", default=8)))
    frequencies = cfg.integer("input_size", default=80)
    for _ in range(steps):
        frequencies = (frequencies - 1) // 2 + 1
    later: Groups = (*conv("embed.conv.depthwise", width, 1, 3, 3), *conv("embed.conv.pointwise", width, width, 1, 1))
    return (
        *conv("embed.conv.0", width, 1, 3, 3),
        *(copies(later, steps - 1) if steps > 1 else ()),
        *linear("embed.out", hidden, width * frequencies, role="audio", bias=True),
    )


def _layer(cfg: Config, hidden: int) -> Groups:
    inner, wide = cfg.integer("intermediate_size", default=1536), cfg.integer("ext_pw_out_channel", default=1024)
    deep = hidden * cfg.integer("depthwise_multiplier", default=1)
    separable = cfg.integer("depthwise_separable_out_channel", default=1024)
    half: Groups = (
        *norm("feed_forward.layer_norm", hidden, bias=True),
        *linear("feed_forward.gate_up_proj", 2 * inner, hidden, role="audio", bias=True),
        *linear("feed_forward.down_proj", hidden, inner, role="audio", bias=True),
    )
    return (
        *copies(half, 2),
        *encoder_attention("self_attn", Block(hidden, inner)),
        *norm("conv.layer_norm", hidden, bias=True),
        *conv("conv.glu.ext_pw_conv_1d", 2 * wide, hidden, 1),
        *(parameter(f"conv.glu.b{i}", wide) for i in (1, 2)),
        *conv("conv.dw_sep_conv_1d.dw_conv", deep, 1, cfg.integer("kernel_size", default=3)),
        *conv("conv.dw_sep_conv_1d.pw_conv", separable, deep, 1),
        *conv("conv.ext_pw_conv_1d", wide, hidden, 1),
        *norm("layer_norm_att", hidden, bias=True),
        *norm("layer_norm", hidden, bias=True),
    )
