"""Gemma 4's image encoder: rotary and factorized positions, four norms a block, norms on q and k.

Source: transformers 5.24 models/gemma4/modeling_gemma4.py (Gemma4VisionModel).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter

MODEL_TYPES = ("gemma4_vision",)


def build(cfg: Config) -> Tower:
    """Clipped linears and standardized features add buffers, no parameters."""
    hidden, head_dim = cfg.integer("hidden_size", default=768), cfg.integer("head_dim", default=64)
    side = cfg.integer("patch_size", default=16)
    block = Block(
        hidden,
        cfg.integer("intermediate_size", default=3072),
        qkv_bias=False,
        o_bias=False,
        mlp_bias=False,
        norm_bias=False,
        gated=True,
        n_norms=4,
        qk_norm=head_dim,
        inner=cfg.integer("num_attention_heads", default=12) * head_dim,
        kv_inner=cfg.integer("num_key_value_heads", default=12) * head_dim,
    )
    groups = (
        *conv("patch_embedder.input_proj", hidden, 3, side, side, bias=False),
        parameter("patch_embedder.position_embedding_table", 2, cfg.integer("position_embedding_size", default=10240), hidden),
        *blocks(cfg.integer("num_hidden_layers", default=16), block, name="encoder.layers"),
    )
    return Tower(groups, hidden)
