"""The common decoder with mixtures of experts: the dense decoder's blocks, with a feed-forward of its own per layer."""

from collections.abc import Sequence

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import layer_kinds, mixer, read_heads
from kvplan.specs.parts.blocks import Groups, periodic
from kvplan.specs.parts.decoder import Style, assemble, mixing_weights
from kvplan.specs.parts.experts import MoeStyle, dense_or_moe

MLP_KINDS = ("dense", "sparse")


def sparse_decoder(cfg: Config, style: Style, ffns: Sequence[Ffn], moe: MoeStyle, form: ActivationForm, extra: Groups = ()) -> ModelSpec:
    """The ModelSpec of a decoder whose layer i has the feed-forward ``ffns[i]``, and ``extra`` weights in every layer.

    Mixers and norms are read as ``decoder`` reads them. Raises ConfigError with the key path.
    """
    hidden, n_layers = cfg.integer("hidden_size"), cfg.n_layers()
    heads = read_heads(cfg, hidden, head_dim=style.head_dim, n_kv_heads=style.n_kv_heads)
    kinds = layer_kinds(cfg, n_layers, periodic(n_layers, style.kinds))
    mixing = (*mixing_weights(hidden, heads, style), *extra)
    made = {
        (kind, ffn): Layer((mixer(kind, heads, cfg, window=style.window),), (ffn,), (*mixing, *dense_or_moe(hidden, ffn, moe)))
        for kind, ffn in dict.fromkeys(zip(kinds, ffns, strict=True))
    }
    return assemble(cfg, [made[pair] for pair in zip(kinds, ffns, strict=True)], style, form)


def first_dense(n_layers: int, n_dense: int, dense: DenseFfn, moe: MoeFfn) -> tuple[Ffn, ...]:
    """``n_dense`` dense layers, then mixtures."""
    return tuple(dense if i < n_dense else moe for i in range(n_layers))


def by_step(cfg: Config, dense: DenseFfn, moe: MoeFfn, *, dense_layers: Sequence[int] = ()) -> tuple[Ffn, ...]:
    """A mixture in every ``decoder_sparse_step``-th layer (1 by default), except in ``mlp_only_layers`` (Qwen-MoE)."""
    step = cfg.integer("decoder_sparse_step", default=1)
    only = cfg.integers("mlp_only_layers", default=dense_layers)
    return tuple(dense if i in only or (i + 1) % step else moe for i in range(cfg.n_layers()))


def by_kind(cfg: Config, dense: DenseFfn, moe: MoeFfn, default: Sequence[str]) -> tuple[Ffn, ...]:
    """``mlp_layer_types`` of the config, else ``default``: ``dense`` or ``sparse`` for each layer."""
    kinds = cfg.per_layer("mlp_layer_types", cfg.n_layers(), cfg.texts("mlp_layer_types", default=default))
    strange = next((kind for kind in kinds if kind not in MLP_KINDS), None)
    if strange:
        raise cfg.error("mlp_layer_types", f"unknown kind of layer '{strange}'", hint=f"known: {', '.join(MLP_KINDS)}")
    return tuple(dense if kind == "dense" else moe for kind in kinds)


def experts_per_token(cfg: Config, *keys: str, of: int, default: int | None = None) -> int:
    """Experts that a token visits, at the first of ``keys`` that is there; no more than there are (``of``)."""
    key = next((k for k in keys if cfg.has(k)), keys[0])
    n_active = cfg.integer(key, default=default)
    if n_active > of:
        raise cfg.error(key, f"expected at most the {of} experts that there are, found {n_active}")
    return n_active
