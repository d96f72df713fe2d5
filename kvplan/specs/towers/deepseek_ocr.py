"""The second encoders of DeepSeek-OCR's kin, which read what SAM saw: CLIP without its patches, or a decoder's blocks.

Source: transformers 5.24 models/{unlimited_ocr,deepseek_ocr2}.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, n_patches, parameter

MODEL_TYPES = ("unlimited_ocr_vision_encoder", "deepseek_ocr2_encoder")


def build(cfg: Config) -> Tower:
    """Neither has embeddings of its own but for CLIP's class token and positions."""
    return _clip(cfg) if cfg.text("model_type") == "unlimited_ocr_vision_encoder" else _decoder(cfg)


def _clip(cfg: Config) -> Tower:
    hidden = cfg.integer("hidden_size", default=1024)
    groups = (
        parameter("embeddings.class_embedding", hidden),
        parameter("embeddings.position_embedding.weight", n_patches(cfg, 224, 14) + 1, hidden),
        *norm("pre_layrnorm", hidden, bias=True),
        *blocks(cfg.integer("num_hidden_layers", default=24), Block(hidden, cfg.integer("intermediate_size", default=4096))),
    )
    return Tower(groups, hidden)


def _decoder(cfg: Config) -> Tower:
    hidden, n_heads = cfg.integer("hidden_size", default=4096), cfg.integer("num_attention_heads", default=32)
    head_dim = cfg.integer("head_dim", default=max(1, hidden // n_heads))
    block = Block(
        hidden,
        cfg.integer("intermediate_size", default=22016),
        o_bias=False,
        mlp_bias=False,
        norm_bias=False,
        gated=True,
        inner=n_heads * head_dim,
        kv_inner=cfg.integer("num_key_value_heads", default=32) * head_dim,
    )
    return Tower((*blocks(cfg.integer("num_hidden_layers", default=32), block), *norm("norm", hidden)), hidden)
