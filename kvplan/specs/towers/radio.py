"""RADIO, NVIDIA's agglomerated image encoder: patches as vectors, one large table of positions, several class and register tokens.

Source: transformers 5.24 models/radio/modeling_radio.py; Heinrich et al. 2024, arXiv:2412.07679.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter, scaled

MODEL_TYPES = ("radio",)


def build(cfg: Config) -> Tower:
    """C-RADIO-H unless the config says otherwise; ``video_temporal_patch_size`` adds a projection for frames."""
    hidden, side, channels = (
        cfg.integer("hidden_size", default=1280),
        cfg.integer("patch_size", default=16),
        cfg.integer("num_channels", default=3),
    )
    inner, gated = scaled(cfg, "mlp_ratio", hidden, default=4.0), cfg.flag("use_swiglu_ffn", default=False)
    if gated:
        inner = (int(inner * 2 / 3) + 7) // 8 * 8
    block = Block(hidden, inner, qkv_bias=cfg.flag("qkv_bias", default=True), gated=gated, layer_scales=2)
    frames = cfg.optional_integer("video_temporal_patch_size")
    tokens = cfg.integer("num_cls_tokens", default=3, least=0) + cfg.integer("num_registers", default=7, least=0)
    groups = (
        *conv("embeddings.patch_projection", hidden, channels, side, side, bias=False),
        *(conv("embeddings.video_patch_projection", hidden, channels, frames, side, side, bias=False) if frames else ()),
        parameter("embeddings.position_embedding", (cfg.integer("max_img_size", default=2048) // side) ** 2, hidden),
        *((parameter("embeddings.cls_register_token", tokens, hidden),) if tokens else ()),
        *blocks(cfg.integer("num_hidden_layers", default=32), block, name="encoder.layer"),
    )
    return Tower(groups, hidden)
