"""Falcon: one key and value head (7B) or some (40B, 180B), attention and feed-forward side by side, ALiBi in the small ones.

Source: transformers 5.24 models/falcon/modeling_falcon.py; Almazrouei et al. 2023, arXiv:2311.16867 §4.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads
from kvplan.specs.parts.classic import LAYER_NORMED, Shape, classic, equal_heads
from kvplan.specs.parts.decoder import rotary_dim
from kvplan.specs.parts.forms import ROTATION, plain

MODEL_TYPES = ("falcon", "RefinedWeb", "RefinedWebModel")

_FIRST_NAMES = {"n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_head_kv": "num_kv_heads"}
"""Keys of the repositories' first files, which call the new architecture RefinedWeb and the old one RefinedWebModel.

Source: tiiuae/falcon-40b and falcon-7b, configuration_RW.py and modelling_RW.py.
"""


def build(cfg: Config) -> ModelSpec:
    """Norms a layer: one, or two with ``num_ln_in_parallel_attn`` 2 (the new architecture's default) or without ``parallel_attn``."""
    cfg = _named_as_now(cfg)
    hidden = cfg.integer("n_embed") if cfg.has("n_embed") else cfg.integer("hidden_size")
    new = cfg.flag("new_decoder_architecture", default=False)
    shape = Shape(
        hidden=hidden,
        n_layers=cfg.n_layers(),
        heads=_heads(cfg, hidden, new=new),
        intermediate=cfg.integer("ffn_hidden_size", default=4 * hidden),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("max_position_embeddings", default=2048),
    )
    parallel, bias = cfg.flag("parallel_attn", default=True), cfg.flag("bias", default=False)
    two_norms = not parallel or cfg.integer("num_ln_in_parallel_attn", default=2 if new else 1) == 2
    style = LAYER_NORMED._replace(
        qkv_bias=bias,
        o_bias=bias,
        mlp_bias=bias,
        layer_norms=("input_layernorm", "post_attention_layernorm") if two_norms else ("input_layernorm",),
        tied=cfg.flag("tie_word_embeddings", default=True),
    )
    alibi = cfg.flag("alibi", default=False)
    (mlp,) = plain(cfg.text("activation", default="gelu"), hidden="6H" if not parallel else "5H" if two_norms else "4H")
    form = _form(shape.heads, alive="4H" if parallel and two_norms else "3H", new=new, rotates=not alibi)._replace(
        mlp=(mlp,) if parallel else (mlp, "8H + I"),
        checked=cfg.text("model_type") == "falcon" and not (alibi and shape.heads.n_kv_heads < shape.heads.n_heads),
        rotary_dim=None if alibi else rotary_dim(cfg, shape.heads.head_dim),
        resident=f"{2 * shape.heads.head_dim}" if alibi else "",  # tables of a rotation that no layer makes
    )
    return classic(shape, style, _biased(form) if alibi else form)


def _form(heads: Heads, *, alive: str, new: bool, rotates: bool) -> ActivationForm:
    """The fused projection lives as long as the values; the new architecture copies its keys and values for each query head;
    queries that are not rotated are a view of it."""
    fused = (heads.n_heads + 2 * heads.n_kv_heads) * heads.head_dim
    return ActivationForm(
        norm="5H",
        attention=(f"{alive} + 7Q + {fused}",) if new else ROTATION,
        core=f"{alive} + Q + {fused}" if rotates else f"{alive} + {fused}",
        scores="4NL",
        kept_scores="2NL",
        kv_heads="expanded" if new else "broadcast",
        masks_all=True,
    )


def _biased(form: ActivationForm) -> ActivationForm:
    """``form`` under ALiBi, a bias for each pair of tokens and head: made once."""
    return form._replace(
        norm=f"{form.norm} + NL",
        attention=tuple(f"{text} + NL" for text in form.attention),
        core=f"{form.core} + NL",
        masks_all=False,
        mask_heads=True,
        scores="4NL + 3fNL",
        kept_scores="2NL + 2fNL",
        mlp=tuple(f"{text} + NL" for text in form.mlp),
    )


def _named_as_now(cfg: Config) -> Config:
    """``cfg``, or one of the first files in the names of today."""
    model_type = cfg.text("model_type")
    if model_type == "falcon":
        return cfg
    assumed: dict[str, object] = {"new_decoder_architecture": model_type == "RefinedWeb", "parallel_attn": False}
    return cfg.renamed(_FIRST_NAMES).with_defaults(assumed)


def _heads(cfg: Config, hidden: int, *, new: bool) -> Heads:
    """The new architecture has ``num_kv_heads``; the old one shares a single head with ``multi_query``, or none."""
    if new:
        n_kv_heads = cfg.integer("num_kv_heads", default=cfg.integer("num_attention_heads"))
    else:
        n_kv_heads = 1 if cfg.flag("multi_query", default=True) else cfg.integer("num_attention_heads")
    return equal_heads(cfg, hidden, "num_attention_heads", n_kv_heads=n_kv_heads)
