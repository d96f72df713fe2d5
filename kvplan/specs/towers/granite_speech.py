"""Granite Speech's audio encoder: a conformer with relative positions and a CTC head in its middle.

Source: transformers 5.24 models/{granite_speech,granite_speech_plus} (GraniteSpeechCTCEncoder); Gulati et al. 2020, arXiv:2005.08100.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, linear, norm
from kvplan.specs.parts.tower import Tower, conv, parameter

MODEL_TYPES = ("granite_speech_encoder", "granite_speech_plus_encoder")


def build(cfg: Config) -> Tower:
    """The head's logits return into the blocks through a layer of their own."""
    hidden, out = cfg.integer("hidden_dim", "hidden_size", default=1024), cfg.integer("output_dim", default=42)
    groups = (
        *linear("input_linear", hidden, cfg.integer("input_dim", "num_mel_bins", default=160), role="audio", bias=True),
        *copies(_layer(cfg, hidden), cfg.integer("num_layers", "num_hidden_layers", default=10)),
        *linear("out", out, hidden, role="audio", bias=True),
        *linear("out_mid", hidden, out, role="audio", bias=True),
    )
    return Tower(groups, hidden)


def _layer(cfg: Config, hidden: int) -> Groups:
    inner, n_heads = hidden * cfg.integer("feedforward_mult", default=4), cfg.integer("num_heads", "num_attention_heads", default=8)
    head_dim = cfg.integer("dim_head", default=max(1, hidden // n_heads))
    width = hidden * cfg.integer("conv_expansion_factor", default=2)
    half: Groups = (
        *norm("ff.pre_norm", hidden, bias=True),
        *linear("ff.up_proj", inner, hidden, role="audio", bias=True),
        *linear("ff.down_proj", hidden, inner, role="audio", bias=True),
    )
    return (
        *copies(half, 2),
        *norm("attn.pre_norm", hidden, bias=True),
        *linear("attn.to_q", n_heads * head_dim, hidden, role="audio"),
        *linear("attn.to_kv", 2 * n_heads * head_dim, hidden, role="audio"),
        *linear("attn.to_out", hidden, n_heads * head_dim, role="audio", bias=True),
        parameter("attn.rel_pos_emb.weight", 2 * cfg.integer("max_pos_emb", default=512) + 1, head_dim),
        *norm("conv.norm", hidden, bias=True),
        *conv("conv.up_conv", 2 * width, hidden, 1),
        *conv("conv.depth_conv", width, 1, cfg.integer("conv_kernel_size", default=15), bias=False),
        *norm("conv.batch_norm", width, bias=True),
        *conv("conv.down_conv", hidden, width, 1),
        *norm("post_norm", hidden, bias=True),
    )
