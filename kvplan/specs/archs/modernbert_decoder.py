"""ModernBERT's decoder: a window on two layers of three, gated feed-forwards, a transformed output head.

Source: transformers 5.24 models/modernbert_decoder (the window there is half of local_attention).
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.attention import layer_kinds, mixer
from kvplan.specs.parts.blocks import Groups, linear, norm, periodic
from kvplan.specs.parts.classic import Shape, block, classic, equal_heads
from kvplan.specs.parts.decoder import Style

MODEL_TYPES = ("modernbert-decoder",)


def build(cfg: Config) -> ModelSpec:
    """The first layer has no norm of its own: the embeddings end with one."""
    hidden, n_layers = cfg.integer("hidden_size"), cfg.n_layers()
    shape = Shape(
        hidden=hidden,
        n_layers=n_layers,
        heads=equal_heads(cfg, hidden, "num_attention_heads"),
        intermediate=cfg.integer("intermediate_size"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("max_position_embeddings", default=8192),
    )
    bias, norm_bias = cfg.flag("attention_bias", default=False), cfg.flag("norm_bias", default=False)
    style = Style(
        qkv_bias=bias,
        o_bias=bias,
        mlp_bias=cfg.flag("mlp_bias", default=False),
        norm_bias=norm_bias,
        tied=cfg.flag("tie_word_embeddings", default=True),
        head_bias=cfg.flag("decoder_bias", default=True),
    )
    first = style._replace(layer_norms=style.layer_norms[1:])
    window = _window(cfg)
    layers = [
        block(shape, style if i else first, mixer=mixer(kind, shape.heads, cfg, window=window))
        for i, kind in enumerate(_kinds(cfg, n_layers))
    ]
    extra = (*norm("embed_norm", hidden, bias=norm_bias), *_head(cfg, hidden, norm_bias=norm_bias))
    return classic(shape, style, _form(shape), layers=layers, extra=extra)


def _form(shape: Shape) -> ActivationForm:
    """As traced: in front of attention queries and keys are float32, beside the logits stands what the output head transformed."""
    half = shape.heads.n_heads * shape.heads.head_dim // 2
    return ActivationForm(
        norm="5H",
        attention=(f"3H + Q + K + V + 3fQ + {half}f", f"3H + Q + K + V + fQ + 3fK + {half}f"),
        mlp=("5H + 4I",),
        logits=f"W + {shape.hidden}",
        rotary_dim=shape.heads.head_dim,
        rope_tables=2,
        rope_each=True,
        checked=True,
    )


def _window(cfg: Config) -> int | None:
    """``sliding_window``, which files saved by Transformers name; else half of ``local_attention``, both sides' span."""
    if cfg.has("sliding_window"):
        return max(cfg.integer("sliding_window", least=-1), 0) or None
    return (cfg.optional_integer("local_attention", default=128) or 0) // 2 or None


def _head(cfg: Config, hidden: int, *, norm_bias: bool) -> Groups:
    """The transformation before the output projection."""
    dense = linear("head.dense", hidden, hidden, role="lm_head", bias=cfg.flag("classifier_bias", default=False))
    return (*dense, *norm("head.norm", hidden, bias=norm_bias))


def _kinds(cfg: Config, n_layers: int) -> tuple[str, ...]:
    """Every ``global_attn_every_n_layers``-th layer, from the first on, sees everything."""
    period = cfg.integer("global_attn_every_n_layers", default=3, most=MAX_LAYERS)
    return layer_kinds(cfg, n_layers, periodic(n_layers, ("full_attention",) + ("sliding_attention",) * (period - 1)))
