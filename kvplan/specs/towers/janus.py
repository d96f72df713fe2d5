"""Janus' image encoder: SigLIP's blocks, with biases and norms on q and k as the config says.

Source: transformers 5.24 models/janus/modeling_janus.py (JanusVisionModel).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter, scaled

MODEL_TYPES = ("janus_vision_model",)


def build(cfg: Config) -> Tower:
    """SigLIP-L/16 at 384 pixels unless the config says otherwise."""
    hidden, side = cfg.integer("hidden_size", default=1024), cfg.integer("patch_size", default=16)
    n_layers, inner = cfg.integer("num_hidden_layers", default=24), scaled(cfg, "mlp_ratio", hidden, default=4.0)
    block = Block(hidden, inner, qkv_bias=cfg.flag("attention_bias", default=True))
    qk_norm = cfg.flag("use_qk_norm", default=False)
    norms = tuple(group for which in ("q", "k") for group in norm(f"encoder.layers.self_attn.{which}_norm", hidden, bias=True))
    groups = (
        *conv("embeddings.patch_embedding", hidden, cfg.integer("num_channels", default=3), side, side),
        parameter("embeddings.position_embedding.weight", (cfg.integer("image_size", default=384) // side) ** 2, hidden),
        *blocks(n_layers, block, name="encoder.layers"),
        *(tuple(group._replace(n_copies=n_layers) for group in norms) if qk_norm else ()),
        *norm("post_layernorm", hidden, bias=True),
    )
    return Tower(groups, hidden)
