"""GLM-5-Next's image encoder: 3-D patches, gated blocks with normed queries and keys, a convolution and a gated merger.

Source: transformers 5.24 models/glm5_next/modeling_glm5_next.py (Glm5NextVisionModel).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import gated_mlp, linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, patches_3d

MODEL_TYPES = ("glm5_next_vision",)


def build(cfg: Config) -> Tower:
    """The merger is ``projection_intermediate_size`` wide and has no biases."""
    hidden, out = cfg.integer("hidden_size", default=1024), cfg.integer("out_hidden_size", default=1536)
    n_heads, side = cfg.integer("num_heads", "num_attention_heads", default=16), cfg.integer("spatial_merge_size", default=2)
    bias = cfg.flag("attention_bias", default=True)
    block = Block(
        hidden,
        cfg.integer("intermediate_size", default=4096),
        qkv_bias=bias,
        o_bias=bias,
        mlp_bias=bias,
        norm_bias=False,
        gated=True,
        qk_norm=hidden // n_heads,
    )
    groups = (
        *patches_3d(cfg, hidden, patch=14),
        *blocks(cfg.integer("depth", "num_hidden_layers", default=24), block, name="blocks"),
        *conv("downsample", out, hidden, side, side),
        *norm("post_layernorm", hidden),
        *linear("merger.proj", out, out, role="vision"),
        *norm("merger.post_projection_norm", out, bias=True),
        *gated_mlp(out, cfg.integer("projection_intermediate_size", default=10240), name="merger"),
    )
    return Tower(groups, out)
