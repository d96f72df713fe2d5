"""BioGPT and XGLM: decoders in fairseq's manner, with learned positions or computed ones.

Source: transformers 5.24 models/biogpt, models/xglm; Lin et al. 2021, arXiv:2112.10668 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import buffer, norm
from kvplan.specs.parts.classic import LAYER_NORMED, UNFED_CROSS_ATTENTION, Shape, block, classic, cross_attention, equal_heads, positions
from kvplan.specs.parts.forms import plain

MODEL_TYPES = ("biogpt", "xglm")

_OFFSET = 2  # the position table starts with two rows that no token uses


def build(cfg: Config) -> ModelSpec:
    """The one learns its positions, the other computes them."""
    return _biogpt(cfg) if cfg.text("model_type") == "biogpt" else _xglm(cfg)


def _biogpt(cfg: Config) -> ModelSpec:
    hidden = cfg.integer("hidden_size")
    n_positions = cfg.integer("max_position_embeddings", default=1024)
    shape = Shape(
        hidden=hidden,
        n_layers=cfg.n_layers(),
        heads=equal_heads(cfg, hidden, "num_attention_heads"),
        intermediate=cfg.integer("intermediate_size"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=n_positions,
    )
    style = LAYER_NORMED._replace(tied=cfg.flag("tie_word_embeddings", default=True))
    form = ActivationForm(
        norm="5H",
        core="3H + Q",
        scores="2NL",
        mlp=plain(cfg.text("hidden_act", default="gelu"), hidden="3H"),
        learned_positions=True,
        checked=True,
    )
    return classic(shape, style, form, extra=positions(n_positions + _OFFSET, hidden))


def _xglm(cfg: Config) -> ModelSpec:
    hidden = cfg.integer("d_model", "hidden_size")
    shape = Shape(
        hidden=hidden,
        n_layers=cfg.integer("num_layers", "num_hidden_layers", most=MAX_LAYERS),
        heads=equal_heads(cfg, hidden, "attention_heads", "num_attention_heads"),
        intermediate=cfg.integer("ffn_dim"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("max_position_embeddings", default=2048),
    )
    style = LAYER_NORMED._replace(tied=cfg.flag("tie_word_embeddings", default=True))
    form = ActivationForm(
        norm="5H", core="3H + Q", scores="2NL", mlp=plain(cfg.text("activation_function", default="gelu")), eager_only=True, checked=True
    )
    table = buffer("embed_positions.weights", (shape.max_ctx or 0) + _OFFSET, hidden)
    if not cfg.flag("add_cross_attention", default=False):
        return classic(shape, style, form, extra=table)
    cross = (*cross_attention(hidden, shape.heads, source=hidden, bias=True), *norm("cross_attn_norm", hidden, bias=True))
    spec = classic(shape, style, form, layers=(block(shape, style, extra=cross),) * shape.n_layers, extra=table)
    return spec._replace(caveats=(UNFED_CROSS_ATTENTION,))
