"""Segment Anything's image encoder, as OCR models use it: windowed blocks with relative positions, and a convolutional neck.

Source: transformers 5.24 models/{sam,got_ocr2,pp_chart2table,deepseek_ocr2,unlimited_ocr}; Kirillov et al. 2023, arXiv:2304.02643 §3.
"""

from itertools import pairwise

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter, scaled

MODEL_TYPES = (
    "sam_vision_model",
    "got_ocr2_vision",
    "pp_chart2table_vision",
    "deepseek_ocr2_sam_vision_model",
    "unlimited_ocr_sam_vision_model",
)
_BY_RATIO = ("sam_vision_model", "deepseek_ocr2_sam_vision_model")
_DOWNSAMPLED = {"deepseek_ocr2_sam_vision_model": (512, 896), "unlimited_ocr_sam_vision_model": (512, 1024)}


def build(cfg: Config) -> Tower:
    """ViT-B unless the config says otherwise; the encoders of DeepSeek-OCR halve the neck's grid twice more."""
    hidden, n_layers = cfg.integer("hidden_size", default=768), cfg.integer("num_hidden_layers", default=12)
    side, out = cfg.integer("patch_size", default=16), cfg.integer("output_channels", default=256)
    grid = cfg.integer("image_size", default=1024) // side
    by_ratio = cfg.text("model_type") in _BY_RATIO
    width = cfg.integer("mlp_dim", default=scaled(cfg, "mlp_ratio", hidden, default=4.0) if by_ratio else 3072)
    block = Block(hidden, width, qkv_bias=cfg.flag("qkv_bias", default=True))
    absolute = cfg.flag("use_abs_pos", default=True)
    groups = (
        *((parameter("pos_embed", grid * grid, hidden),) if absolute else ()),
        *conv("patch_embed.projection", hidden, cfg.integer("num_channels", default=3), side, side),
        *blocks(n_layers, block),
        *(_relative(cfg, grid, n_layers, hidden) if cfg.flag("use_rel_pos", default=True) else ()),
        *_neck(hidden, out),
    )
    default = _DOWNSAMPLED.get(cfg.text("model_type"))
    if default is None:
        return Tower(groups, out)
    channels = (out, *cfg.integers("downsample_channels", default=default, least=1))
    steps = pairwise(channels)
    more = (group for i, (n_in, n_out) in enumerate(steps) for group in conv(f"proj.conv{i + 1}", n_out, n_in, 3, 3, bias=False))
    return Tower((*groups, *more), channels[-1])


def _relative(cfg: Config, grid: int, n_layers: int, hidden: int) -> Groups:
    """A row for each offset in each direction: over the whole grid in global layers, over a window in the others."""
    n_global = len([i for i in cfg.integers("global_attn_indexes", default=(2, 5, 8, 11)) if i < n_layers])
    head_dim = hidden // cfg.integer("num_attention_heads", default=12)
    window = cfg.integer("window_size", default=14, least=0) or grid
    wide = (parameter("layers.attn.rel_pos_h", 2 * grid - 1, head_dim), parameter("layers.attn.rel_pos_w", 2 * grid - 1, head_dim))
    near = tuple(group._replace(rows=2 * window - 1) for group in wide)
    return (*(copies(wide, n_global) if n_global else ()), *(copies(near, n_layers - n_global) if n_layers > n_global else ()))


def _neck(hidden: int, out: int) -> Groups:
    return (
        *conv("neck.conv1", out, hidden, 1, 1, bias=False),
        *norm("neck.layer_norm1", out, bias=True),
        *conv("neck.conv2", out, out, 3, 3, bias=False),
        *norm("neck.layer_norm2", out, bias=True),
    )
