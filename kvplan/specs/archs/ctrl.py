"""CTRL: computed positions, layer norms, a biased output projection.

Source: transformers 5.24 models/ctrl/modeling_ctrl.py; Keskar et al. 2019, arXiv:1909.05858 §3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import buffer
from kvplan.specs.parts.classic import LAYER_NORMED, Shape, classic, equal_heads

MODEL_TYPES = ("ctrl",)


def build(cfg: Config) -> ModelSpec:
    """GPT's names for the sizes, but ``dff`` for the feed-forward."""
    hidden = cfg.integer("n_embd", "hidden_size")
    shape = Shape(
        hidden=hidden,
        n_layers=cfg.integer("n_layer", "num_hidden_layers", most=MAX_LAYERS),
        heads=equal_heads(cfg, hidden, "n_head", "num_attention_heads"),
        intermediate=cfg.integer("dff"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("n_positions", "max_position_embeddings", default=256),
    )
    style = LAYER_NORMED._replace(tied=cfg.flag("tie_word_embeddings", default=True), head_bias=True)
    table = buffer("pos_encoding", shape.max_ctx or 0, hidden, dtype="float32")
    return classic(shape, style, ActivationForm(norm="5H"), extra=table)
