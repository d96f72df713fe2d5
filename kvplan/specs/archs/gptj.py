"""GPT-J and CodeGen: one norm a layer before attention and feed-forward side by side, a biased output projection.

Source: transformers 5.24 models/gptj, models/codegen; Nijkamp et al. 2022, arXiv:2203.13474 §2.2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import buffer
from kvplan.specs.parts.classic import LAYER_NORMED, Shape, classic, equal_heads
from kvplan.specs.parts.forms import plain

MODEL_TYPES = ("gptj", "codegen")


def build(cfg: Config) -> ModelSpec:
    """Attention has no biases; ``rotary_dim`` null rotates whole heads."""
    hidden = cfg.integer("n_embd", "hidden_size")
    shape = Shape(
        hidden=hidden,
        n_layers=cfg.integer("n_layer", "num_hidden_layers", most=MAX_LAYERS),
        heads=equal_heads(cfg, hidden, "n_head", "num_attention_heads"),
        intermediate=cfg.integer("n_inner", default=4 * hidden),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("n_positions", "max_position_embeddings", default=2048),
    )
    style = LAYER_NORMED._replace(
        qkv_bias=False, o_bias=False, layer_norms=("ln_1",), tied=cfg.flag("tie_word_embeddings", default=False), head_bias=True
    )
    partial = cfg.optional_integer("rotary_dim", default=64)
    core = "3H + 2Q + K + 2NR" if partial else "3H + Q"  # what is not rotated is a view of the projections
    form = ActivationForm(
        norm="5H",
        core="5H + 2Q + K + V" if cfg.text("model_type") == "codegen" else core,
        eager_context="fK",
        mlp=plain(cfg.text("activation_function", default="gelu_new")),
        checked=True,
        rotary_dim=partial or shape.heads.head_dim,
    )
    table = buffer("rotary_emb.embed_positions", shape.max_ctx or 0, form.rotary_dim or 0, dtype="float32")
    return classic(shape, style, form, extra=table)
