"""What both generations of T5Gemma share: sides that are configs of their own, their shapes, and Gemma's four norms a block."""

from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.parts.classic import Shape
from kvplan.specs.parts.decoder import Style, block_weights

_NORMS = ("pre_self_attn_layernorm", "post_self_attn_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")


def side(cfg: Config, name: str) -> Config:
    """The config of the encoder or the decoder. Raises ConfigError where it is missing."""
    if not cfg.has(name):
        raise cfg.error(name, f"missing: expected the {name}'s config")
    return cfg.sub(name)


def read_shape(cfg: Config) -> Shape:
    """The sizes of one side. Raises ConfigError for missing or contradictory keys."""
    hidden = cfg.integer("hidden_size")
    return Shape(
        hidden=hidden,
        n_layers=cfg.n_layers(),
        heads=read_heads(cfg, hidden),
        intermediate=cfg.integer("intermediate_size"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("max_position_embeddings"),
    )


def block(cfg: Config, sizes: Shape, style: Style) -> Groups:
    """Self-attention and feed-forward of one layer, biased as the config says."""
    bias = cfg.flag("attention_bias", default=False)
    return block_weights(sizes.hidden, sizes.heads, sizes.intermediate, style._replace(qkv_bias=bias, o_bias=bias, layer_norms=_NORMS))
