"""The image encoder of dots.ocr: normed patches, gated blocks with RMS norms, a merger into the language model.

Source: modeling_dots_vision.py of rednote-hilab/dots.ocr.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv

MODEL_TYPES = ("dots_vit",)


def build(cfg: Config) -> Tower:
    """``embed_dim`` is the blocks' width, ``hidden_size`` that of what the merger hands on."""
    width, out = cfg.integer("embed_dim", default=1536), cfg.integer("hidden_size", default=1536)
    side, bias = cfg.integer("patch_size", default=14), cfg.flag("use_bias", default=False)
    frames = cfg.integer("temporal_patch_size", default=1)
    merged = width * cfg.integer("spatial_merge_size", default=2) ** 2
    block = Block(
        width,
        cfg.integer("intermediate_size", default=4224),
        qkv_bias=bias,
        o_bias=bias,
        mlp_bias=bias,
        norm_bias=False,
        gated=True,
    )
    groups = (
        *conv("patch_embed.patchifier.proj", width, cfg.integer("num_channels", default=3), frames, side, side),
        *norm("patch_embed.patchifier.norm", width),
        *blocks(cfg.integer("num_hidden_layers", default=42), block, name="blocks"),
        *(norm("post_trunk_norm", width) if cfg.flag("post_norm", default=True) else ()),
        *norm("merger.ln_q", width, bias=True),
        *linear("merger.mlp.0", merged, merged, role="vision", bias=True),
        *linear("merger.mlp.2", out, merged, role="vision", bias=True),
    )
    return Tower(groups, out)
