"""GPT-Neo: GPT-2 with a window of the last tokens on every other layer.

Source: transformers 5.24 models/gpt_neo/modeling_gpt_neo.py (the local mask keeps the last window_size tokens).
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config, shown
from kvplan.specs.parts.attention import full, sliding
from kvplan.specs.parts.blocks import buffer
from kvplan.specs.parts.classic import LAYER_NORMED, Shape, block, classic, equal_heads, positions
from kvplan.specs.parts.forms import plain

MODEL_TYPES = ("gpt_neo",)


def build(cfg: Config) -> ModelSpec:
    """Queries, keys and values have no bias here, the output projection has one."""
    hidden = cfg.integer("hidden_size")
    shape = Shape(
        hidden=hidden,
        n_layers=cfg.integer("num_layers", "num_hidden_layers", most=MAX_LAYERS),
        heads=equal_heads(cfg, hidden, "num_heads", "num_attention_heads"),
        intermediate=cfg.integer("intermediate_size", default=4 * hidden),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("max_position_embeddings", default=2048),
    )
    style = LAYER_NORMED._replace(qkv_bias=False, tied=cfg.flag("tie_word_embeddings", default=True))
    local = sliding(shape.heads, cfg.integer("window_size", default=256))
    kinds = _kinds(cfg, shape.n_layers)
    mask = buffer("attn.attention.bias", shape.max_ctx or 0, shape.max_ctx or 0, dtype="bool")
    layers = [block(shape, style, mixer=local if kind == "local" else full(shape.heads), extra=mask) for kind in kinds]
    form = ActivationForm(
        norm="5H",
        core="4H + fQ",
        eager_context="fK",
        kept_scores="2NL",
        mlp=plain(cfg.text("activation_function", default="gelu_new"), hidden="5H"),
        learned_positions=True,
        eager_only=True,
        checked=True,
    )
    return classic(shape, style, form, layers=layers, extra=positions(shape.max_ctx or 0, hidden))


def _kinds(cfg: Config, n_layers: int) -> tuple[str, ...]:
    """``attention_types`` written out: [[["global", "local"], 12]] is that pair twelve times over.

    Raises ConfigError when it doesn't give one kind to each layer, or names another kind.
    """
    key = "attention_layers" if cfg.has("attention_layers") else "attention_types"
    kinds = cfg.texts("attention_layers") if key == "attention_layers" else _written_out(cfg)
    if unknown := set(kinds) - {"global", "local"}:
        raise cfg.error(key, f"unknown kind of layer '{sorted(unknown)[0]}'", hint="known: global, local")
    return tuple(cfg.per_layer(key, n_layers, kinds))


def _written_out(cfg: Config) -> tuple[str, ...]:
    given = cfg.data.get("attention_types") or [[["global", "local"], 12]]
    kinds: list[str] = []
    for item in given if isinstance(given, list) else [given]:
        match item:
            case [list(pattern), int(times)] if all(isinstance(kind, str) for kind in pattern) and 0 < times <= MAX_LAYERS:
                kinds += pattern * times
            case _:
                raise cfg.error("attention_types", f'expected items like [["global", "local"], 12], found {shown(item)}')
    return tuple(kinds)
