"""The image encoder of GLM-4.1V and later: 3-D patches, gated blocks, a convolution that merges patches, a gated merger.

Source: transformers 5.24 models/{glm4v,glm4v_moe,glm_ocr}; GLM-V team 2025, arXiv:2507.01006 §2.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, gated_mlp, linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, n_patches, parameter, patches_3d

MODEL_TYPES = ("glm4v_vision", "glm4v_moe_vision", "glm_ocr_vision")


def build(cfg: Config) -> Tower:
    """GLM-4V has learned positions and norms around its patches; GLM-OCR instead norms q and k and has biases."""
    ocr = cfg.text("model_type") == "glm_ocr_vision"
    hidden = cfg.integer("hidden_size", default=1024 if ocr else 1536)
    out = cfg.integer("out_hidden_size", default=1536 if ocr else 4096)
    square = cfg.integer("spatial_merge_size", default=2)
    groups = (
        *patches_3d(cfg, hidden, patch=14),
        *(() if ocr else _positions(cfg, hidden)),
        *blocks(cfg.integer("depth", "num_hidden_layers", default=24), _block(cfg, hidden, out, ocr=ocr), name="blocks"),
        *conv("downsample", out, hidden, square, square),
        *norm("post_layernorm", hidden),
        *_merger(cfg, out, ocr=ocr),
    )
    return Tower(groups, out)


def _positions(cfg: Config, hidden: int) -> Groups:
    return parameter("embeddings.position_embedding.weight", n_patches(cfg, 336, 14), hidden), *norm("post_conv_layernorm", hidden)


def _block(cfg: Config, hidden: int, out: int, *, ocr: bool) -> Block:
    """GLM-4V's blocks widen to ``out_hidden_size``; ``intermediate_size`` is the merger's there."""
    bias = cfg.flag("attention_bias", default=ocr)
    return Block(
        hidden,
        cfg.integer("intermediate_size", default=4096) if ocr else out,
        qkv_bias=bias,
        o_bias=bias and ocr,
        mlp_bias=bias and ocr,
        norm_bias=False,
        gated=True,
        qk_norm=hidden // cfg.integer("num_heads", "num_attention_heads", default=16) if ocr else 0,
    )


def _merger(cfg: Config, out: int, *, ocr: bool) -> Groups:
    width = out * cfg.integer("in_channels", default=3) if ocr else cfg.integer("intermediate_size", default=13696)
    return (
        *linear("merger.proj", out, out, role="vision"),
        *norm("merger.post_projection_norm", out, bias=True),
        *gated_mlp(out, width, name="merger"),
    )
