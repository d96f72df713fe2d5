"""Gemma 4 (text): wider heads in the layers that see all tokens, shared keys and values, embeddings per layer, experts.

Source: transformers 5.24 models/{gemma4,gemma4_unified}, integrations/heterogeneity (``per_layer_config``).
"""

from collections.abc import Iterator

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, layer_kinds, mixer, read_heads
from kvplan.specs.parts.blocks import Groups, copies, gated_mlp, linear, norm, periodic, vector
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.forms import NORMED_ROTATION
from kvplan.specs.parts.gemma import NORMS, kv_sources, per_layer_embeddings, per_layer_gate, window

MODEL_TYPES = ("gemma4_text", "gemma4_unified_text")

_SIZES: dict[str, object] = {
    **{"vocab_size": 262144, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 30, "num_attention_heads": 8},
    **{"num_key_value_heads": 4, "head_dim": 256, "global_head_dim": 512, "num_kv_shared_layers": 0},
}
_CLASS: dict[str, dict[str, object]] = {
    "gemma4_text": {
        **{**_SIZES, "max_position_embeddings": 131072, "sliding_window": 512},
        **{"vocab_size_per_layer_input": 262144, "hidden_size_per_layer_input": 256},
    },
    "gemma4_unified_text": {**_SIZES, "max_position_embeddings": 262144, "sliding_window": 1024},
}
_KINDS = (*5 * ("sliding_attention",), "full_attention")
_OVERRIDES = frozenset(["head_dim", "num_key_value_heads"])
_UNIFIED_LACKS = ("hidden_size_per_layer_input", "enable_moe_block")


def build(cfg: Config) -> ModelSpec:
    """The unified model has neither embeddings per layer nor experts."""
    model_type = cfg.text("model_type")
    if model_type == "gemma4_unified_text":
        cfg = Config({k: v for k, v in cfg.data.items() if k not in _UNIFIED_LACKS}, where=cfg.where, path=cfg.path)
    cfg = completed(cfg, _CLASS[model_type])
    hidden, n_layers = cfg.integer("hidden_size"), cfg.n_layers()
    own = cfg.integer("hidden_size_per_layer_input") if _has_own_embeddings(cfg) else 0
    form = ActivationForm(
        merges_experts=False,
        norm="4H + 2fH",
        attention=NORMED_ROTATION,
        logits="2W" if cfg.has("final_logit_softcapping") else "W",
        resident=str(n_layers * own) if own else "",
        rotary_dim=read_heads(cfg, hidden).head_dim,
        rope_tables=3,
        checked=not cfg.flag("enable_moe_block", default=False),
    )
    spec = assemble(cfg, list(_layers(cfg, hidden, n_layers)), Style(tied=True), form)
    if not _has_own_embeddings(cfg):
        return spec
    return spec._replace(weights=(*spec.weights, *per_layer_embeddings(cfg, hidden, n_layers)))


def _layers(cfg: Config, hidden: int, n_layers: int) -> Iterator[Layer]:
    """Each layer; the last one sees all tokens whatever the config says."""
    kinds = (*layer_kinds(cfg, n_layers, periodic(n_layers, _KINDS))[:-1], "full_attention")
    both_ways = cfg.has("use_bidirectional_attention") and cfg.text("use_bidirectional_attention") == "all"
    tokens = window(cfg, bidirectional=both_ways)
    common = tuple(group for name in NORMS for group in norm(name, hidden))
    gate = per_layer_gate(cfg, hidden) if _has_own_embeddings(cfg) else ()
    moe = _moe(cfg) if cfg.flag("enable_moe_block", default=False) else None
    for i, (kind, source) in enumerate(zip(kinds, kv_sources(cfg, kinds), strict=True)):
        heads = _heads(cfg, hidden, i, kind)
        width = cfg.integer("intermediate_size") * (2 if source is not None and cfg.flag("use_double_wide_mlp", default=False) else 1)
        ffns: tuple[Ffn, ...] = (DenseFfn(width), moe) if moe else (DenseFfn(width),)
        experts = _experts(hidden, moe) if moe else ()
        projections = _attention(cfg, hidden, heads, lacks_kv=source is not None, lacks_v=kind == "full_attention")
        weights = (*common, *gate, *projections, *gated_mlp(hidden, width), *experts)
        yield Layer((mixer(kind, heads, cfg, window=tokens),), ffns, weights, kv_source=source)


def _has_own_embeddings(cfg: Config) -> bool:
    return cfg.has("hidden_size_per_layer_input") and cfg.integer("hidden_size_per_layer_input", least=0) > 0


def _heads(cfg: Config, hidden: int, layer: int, kind: str) -> Heads:
    """Heads of one layer: as ``per_layer_config`` overrides them, else wider ones where all tokens are seen."""
    if cfg.has("per_layer_config"):
        by_layer = cfg.sub("per_layer_config")
        key = next((key for key in by_layer.data if key.isdigit() and int(key) == layer), "")
        overrides = by_layer.sub(key)
        strange = set(overrides.data) - _OVERRIDES
        if strange:
            raise overrides.error(strange.pop(), f"expected only {' and '.join(sorted(_OVERRIDES))} to differ between layers")
        return read_heads(Config({**cfg.data, **overrides.data}, where=cfg.where, path=cfg.path), hidden)
    if kind != "full_attention":
        return read_heads(cfg, hidden)
    own = {"head_dim": cfg.integer("global_head_dim")}
    if cfg.has("num_global_key_value_heads") and cfg.flag("attention_k_eq_v", default=False):
        own["num_key_value_heads"] = cfg.integer("num_global_key_value_heads")
    return read_heads(Config({**cfg.data, **own}, where=cfg.where, path=cfg.path), hidden)


def _attention(cfg: Config, hidden: int, heads: Heads, *, lacks_kv: bool, lacks_v: bool) -> Groups:
    """Projections and norms; with ``attention_k_eq_v`` the values of a layer that sees all tokens are made of its keys."""
    bias = cfg.flag("attention_bias", default=False)
    absent: tuple[str, ...] = ("self_attn.k_", "self_attn.v_") if lacks_kv else ()
    if lacks_v and cfg.flag("attention_k_eq_v", default=False):
        absent = (*absent, "self_attn.v_")
    whole = attention(hidden, heads, qkv_bias=bias, o_bias=bias, qk_norm="head")
    return tuple(group for group in whole if not group.name.startswith(absent))


def _moe(cfg: Config) -> MoeFfn:
    n_experts = cfg.integer("num_experts")
    return MoeFfn(n_experts, cfg.integer("top_k_experts", most=n_experts), cfg.integer("moe_intermediate_size"))


def _experts(hidden: int, moe: MoeFfn) -> Groups:
    """Experts beside the dense feed-forward, with norms of their own and learned scales before and after routing."""
    names = ("post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2")
    return (
        *(group for name in names for group in norm(name, hidden)),
        *linear("router.proj", moe.n_experts, hidden, role="router"),
        *vector("router.scale", hidden, role="router"),
        *vector("router.per_expert_scale", moe.n_experts, role="router"),
        *copies(gated_mlp(hidden, moe.intermediate, name="experts", role="expert"), moe.n_experts),
    )
