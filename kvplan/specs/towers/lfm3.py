"""LFM3-VL's image encoder: gated short convolutions over the grid, and attention with norms on q and k in between.

Source: transformers 5.24 models/lfm3_vl/modeling_lfm3_vl.py (Lfm3VlVisionModel).
"""

from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import Groups, copies, gated_mlp, linear, norm
from kvplan.specs.parts.tower import Block, Tower, conv, encoder_attention, patches_3d

MODEL_TYPES = ("lfm3_vl_vision",)


def build(cfg: Config) -> Tower:
    """The first two layers and every odd one are convolutions unless ``layer_types`` says otherwise."""
    hidden, inner = cfg.integer("hidden_size", default=1024), cfg.integer("intermediate_size", default=2560)
    n_layers = cfg.integer("num_hidden_layers", default=14, most=MAX_LAYERS)
    default = ["conv" if i < 2 or i % 2 else "full_attention" for i in range(n_layers)]
    kinds = cfg.per_layer("layer_types", n_layers, cfg.texts("layer_types", default=default))
    n_conv = sum(kind == "conv" for kind in kinds)
    shared: Groups = (*norm("operator_norm", hidden), *norm("ffn_norm", hidden), *gated_mlp(hidden, inner, name="feed_forward"))
    groups = (
        *patches_3d(cfg, hidden, patch=16, bias=False),
        *norm("embedding_norm", hidden),
        *copies(shared, n_layers),
        *(copies(_convolution(cfg, hidden), n_conv) if n_conv else ()),
        *(copies(_attention(cfg, hidden), n_layers - n_conv) if n_conv < n_layers else ()),
    )
    return Tower(groups, hidden)


def _convolution(cfg: Config, hidden: int) -> Groups:
    kernel = cfg.integer("conv_kernel_size", default=3)
    return (
        *linear("conv.in_proj", 3 * hidden, hidden, role="vision"),
        *conv("conv.spatial_conv", hidden, 1, kernel, kernel, bias=False),
        *linear("conv.out_proj", hidden, hidden, role="vision"),
    )


def _attention(cfg: Config, hidden: int) -> Groups:
    n_heads = cfg.integer("num_attention_heads", default=16)
    head_dim, n_kv_heads = hidden // n_heads, cfg.integer("num_key_value_heads", default=8)
    block = Block(hidden, 1, qkv_bias=False, o_bias=False, qk_norm=head_dim, inner=n_heads * head_dim, kv_inner=n_kv_heads * head_dim)
    return encoder_attention("self_attn", block)
