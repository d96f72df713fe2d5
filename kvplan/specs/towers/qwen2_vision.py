"""The image and video encoders of Qwen2-VL and Qwen2.5-VL: 3-D patches, rotary positions, a merger of neighboring patches.

Source: transformers 5.24 models/{qwen2_vl,qwen2_5_vl,qwen2_5_omni,exaone4_5}; Wang et al. 2024, arXiv:2409.12191 §2.1.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, patches_3d, scaled

MODEL_TYPES = ("qwen2_vl_vision", "qwen2_5_vl_vision", "qwen2_5_omni_vision_encoder", "exaone4_5_vision")


def build(cfg: Config) -> Tower:
    """The first generation has layer norms and plain feed-forwards; later ones RMS norms and gated feed-forwards."""
    return _first(cfg) if cfg.text("model_type") == "qwen2_vl_vision" else _second(cfg)


def _first(cfg: Config) -> Tower:
    hidden, out = cfg.integer("embed_dim", default=1280), cfg.integer("hidden_size", default=3584)
    block = Block(hidden, scaled(cfg, "mlp_ratio", hidden, default=4))
    layers = blocks(cfg.integer("depth", "num_hidden_layers", default=32), block, name="blocks")
    return Tower((*patches_3d(cfg, hidden, patch=14, bias=False), *layers, *_merger(cfg, hidden, out, norm_bias=True)), out)


def _second(cfg: Config) -> Tower:
    hidden, out = cfg.integer("hidden_size", default=3584), cfg.integer("out_hidden_size", default=3584)
    n_heads = cfg.integer("num_heads", "num_attention_heads", default=16)
    grouped = cfg.text("model_type") == "exaone4_5_vision"
    n_kv_heads = cfg.integer("num_key_value_heads", default=8) if grouped else n_heads
    block = Block(
        hidden,
        cfg.integer("intermediate_size", default=3420),
        norm_bias=False,
        gated=True,
        kv_inner=n_kv_heads * (hidden // n_heads),
    )
    layers = blocks(cfg.integer("depth", "num_hidden_layers", default=32), block, name="blocks")
    return Tower((*patches_3d(cfg, hidden, patch=14, bias=False), *layers, *_merger(cfg, hidden, out, norm_bias=False)), out)


def _merger(cfg: Config, hidden: int, out: int, *, norm_bias: bool) -> Groups:
    """Norm of each patch, then two layers over ``spatial_merge_size``² of them."""
    merged = hidden * cfg.integer("spatial_merge_size", default=2) ** 2
    return (
        *norm("merger.ln_q", hidden, bias=norm_bias),
        *linear("merger.mlp.0", merged, merged, role="vision", bias=True),
        *linear("merger.mlp.2", out, merged, role="vision", bias=True),
    )
