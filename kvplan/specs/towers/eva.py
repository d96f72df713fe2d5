"""GLM-4V-9B's image encoder: EVA-CLIP's post-norm blocks, a convolution over squares of patches, a gated projection.

Source: visual.py of zai-org/glm-4v-9b; Sun et al. 2023, arXiv:2303.15389.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter

MODEL_TYPES = ("glm4v_eva",)


def build(cfg: Config) -> Tower:
    """``out_hidden_size`` and ``ffn_hidden_size`` are the language model's, whose config holds this one."""
    hidden, out, inner = cfg.integer("hidden_size"), cfg.integer("out_hidden_size"), cfg.integer("ffn_hidden_size")
    side = cfg.integer("patch_size")
    groups = (
        *conv("patch_embedding.proj", hidden, cfg.integer("in_channels", default=3), side, side),
        parameter("patch_embedding.cls_embedding", 1, hidden),
        parameter("patch_embedding.position_embedding.weight", cfg.integer("num_positions"), hidden),
        *blocks(cfg.n_layers(), Block(hidden, cfg.integer("intermediate_size")), name="transformer.layers"),
        *conv("conv", out, hidden, 2, 2),
        *linear("linear_proj.linear_proj", out, out, role="vision"),
        *norm("linear_proj.norm1", out, bias=True),
        *linear("linear_proj.dense_h_to_4h", inner, out, role="vision"),
        *linear("linear_proj.gate_proj", inner, out, role="vision"),
        *linear("linear_proj.dense_4h_to_h", out, inner, role="vision"),
        parameter("boi", out),
        parameter("eoi", out),
    )
    return Tower(groups, out)
