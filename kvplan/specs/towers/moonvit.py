"""MoonViT, Kimi's image encoder: a learned grid of positions, resampled to each image, and pre-norm blocks.

Source: transformers 5.24 models/kimi_k25 (Kimi_K25VisionModel); for Kimi-K3 the config and the total of moonshotai/Kimi-K3;
Kimi-VL report, arXiv:2504.07491 §2.1.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter

MODEL_TYPES = ("kimi_k25_vision", "moonvit", "kimi_k3_vision")


def build(cfg: Config) -> Tower:
    """Kimi-K3 says of each kind of layer whether it has biases, normalizes by RMS, and attends ``qkv_hidden_size`` wide."""
    hidden = cfg.integer("hidden_size", "vt_hidden_size", default=1152)
    norm_bias = cfg.text("norm_type", default="layernorm") != "rmsnorm"
    bias, attention_bias = cfg.flag("linear_bias", default=True), cfg.flag("attn_bias", default=True)
    side = cfg.integer("patch_size", default=14)
    grid = (
        cfg.integer("pos_emb_height", "init_pos_emb_height", default=64),
        cfg.integer("pos_emb_width", "init_pos_emb_width", default=64),
    )
    block = Block(
        hidden,
        cfg.integer("intermediate_size", "vt_intermediate_size", default=4304),
        qkv_bias=attention_bias,
        o_bias=attention_bias,
        mlp_bias=bias,
        norm_bias=norm_bias,
        inner=cfg.integer("qkv_hidden_size", default=hidden),
    )
    groups = (
        *conv("patch_embed.proj", hidden, 3, side, side, bias=cfg.flag("patch_embed_proj_bias", default=True)),
        parameter("patch_embed.pos_emb", *grid, hidden),
        *blocks(cfg.integer("num_hidden_layers", "vt_num_hidden_layers", default=27), block, name="encoder.blocks"),
        *norm("encoder.final_layernorm", hidden, bias=norm_bias),
    )
    return Tower(groups, hidden)
