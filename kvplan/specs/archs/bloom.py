"""BLOOM: ALiBi instead of positions, a norm right after the embeddings, one fused projection.

Source: transformers 5.24 models/bloom/modeling_bloom.py; BigScience 2022, arXiv:2211.05100 §3.2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.classic import LAYER_NORMED, Shape, classic, equal_heads
from kvplan.specs.parts.decoder import max_ctx

MODEL_TYPES = ("bloom",)


def build(cfg: Config) -> ModelSpec:
    """``n_embed`` of older configs takes precedence over ``hidden_size``; ALiBi sets no limit, ``seq_length`` says what was trained."""
    hidden = cfg.integer("n_embed") if cfg.has("n_embed") else cfg.integer("hidden_size")
    shape = Shape(
        hidden=hidden,
        n_layers=cfg.integer("n_layer", "num_hidden_layers", most=MAX_LAYERS),
        heads=equal_heads(cfg, hidden, "n_head", "num_attention_heads"),
        intermediate=4 * hidden,
        vocab=cfg.integer("vocab_size"),
        max_ctx=max_ctx(cfg),
    )
    style = LAYER_NORMED._replace(tied=cfg.flag("tie_word_embeddings", default=True))
    form = ActivationForm(
        norm="5H",
        core="4H + Q + K + V",
        core_alone="3H + Q + K + V",
        scores="3NL + 2fNL",
        kept_scores="2NL",
        mlp=("4H + 5I",),
        eager_only=True,
        checked=True,
    )
    return classic(shape, style, form, extra=norm("embed_layernorm", hidden, bias=True))
