"""ZAYA: attention whose queries and keys pass two convolutions, values half delayed by one token, routers with a small MLP.

Source: transformers 5.24 models/zaya; Figliolia et al. 2025, arXiv:2510.04476 (compressed convolutional attention).
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import Mixer, ShortConv
from kvplan.core.model import Layer, ModelSpec, MoeFfn, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, full, read_heads, sliding
from kvplan.specs.parts.blocks import Groups, copies, gated_mlp, linear, norm, vector
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.forms import NORMED_ROTATION, moe_moments

MODEL_TYPES = ("zaya",)

_DEFAULTS: Mapping[str, object] = {
    "num_key_value_heads": 2,
    "head_dim": 128,
    "moe_intermediate_size": 2048,
    "num_experts": 16,
    "num_experts_per_tok": 1,
    "router_hidden_size": 256,
    "cca_time0": 2,
    "cca_time1": 2,
    "tie_word_embeddings": True,
    "max_position_embeddings": 131072,
}
_KINDS = ("hybrid", "hybrid_sliding")


def build(cfg: Config) -> ModelSpec:
    """All layers are alike but for their windows, and for layer 0, whose router has no predecessor to scale."""
    cfg = completed(cfg, _DEFAULTS)
    if cfg.integer("num_experts_per_tok") != 1:
        raise cfg.error("num_experts_per_tok", f"expected 1, all that the architecture has, found {cfg.integer('num_experts_per_tok')}")
    n_layers, hidden = cfg.n_layers(), cfg.integer("hidden_size")
    heads = read_heads(cfg, hidden)
    kinds = cfg.per_layer("layer_types", n_layers, cfg.texts("layer_types", default=("hybrid",) * n_layers))
    weights = (*_attention(cfg, heads), *_feed_forward(cfg), *_scales(hidden))
    ffn = MoeFfn(cfg.integer("num_experts"), 1, cfg.integer("moe_intermediate_size"))
    made = {kind: Layer(_mixers(cfg, heads, kind), (ffn,), (*weights, *_predecessor(cfg))) for kind in dict.fromkeys(kinds)}
    layers = [made[kind] for kind in kinds]
    layers[0] = layers[0]._replace(weights=weights)
    form = ActivationForm(
        norm="3H + 4fH + 2K",  # the residual is float32
        rotary_dim=rotary_dim(cfg, heads.head_dim, default=0.5),
        rope_tables=len(made),
        attention=NORMED_ROTATION,
        moe=moe_moments(hidden="2H + 2fH + 2K"),
    )
    spec = assemble(cfg, layers, Style(tied=True, head_bias=cfg.flag("lm_head_bias", default=False)), form)
    entry = (*vector("input_hidden_states_scale", hidden, role="other"), *vector("input_hidden_states_bias", hidden, role="other"))
    return spec._replace(weights=(*spec.weights, *entry))


def _mixers(cfg: Config, heads: Heads, kind: str) -> tuple[Mixer, ...]:
    """Attention, the past inputs of both convolutions, and one token's delayed half of the values."""
    if kind not in _KINDS:
        raise cfg.error("layer_types", f"unknown kind of layer '{kind}'", hint=f"known: {', '.join(_KINDS)}")
    attention = sliding(heads, cfg.integer("sliding_window")) if kind == "hybrid_sliding" else full(heads)
    past = cfg.integer("cca_time0") + cfg.integer("cca_time1") - 2
    channels = (heads.n_heads + heads.n_kv_heads) * heads.head_dim
    return attention, ShortConv(channels, past + 1), ShortConv(heads.n_kv_heads * heads.head_dim // 2, 2)


def _attention(cfg: Config, heads: Heads) -> Groups:
    hidden, bias = cfg.integer("hidden_size"), cfg.flag("attention_bias", default=False)
    q, kv = heads.n_heads * heads.head_dim, heads.n_kv_heads * heads.head_dim
    name = "self_attn.qkv_proj"
    return (
        *norm("input_layernorm", hidden),
        *linear(f"{name}.q_proj", q, hidden, role="attention", shard="column", bias=bias),
        *linear(f"{name}.k_proj", kv, hidden, role="attention", shard="kv", bias=bias),
        *linear(f"{name}.v_proj_current", kv // 2, hidden, role="attention", shard="kv", bias=bias),
        *linear(f"{name}.v_proj_delayed", kv // 2, hidden, role="attention", shard="kv", bias=bias),
        *linear(f"{name}.conv_qk_depthwise", q + kv, cfg.integer("cca_time0"), role="attention", bias=True),
        *linear(f"{name}.conv_qk_grouped", q + kv, heads.head_dim * cfg.integer("cca_time1"), role="attention", bias=True),
        *vector("self_attn.qk_norm.temp", heads.n_kv_heads, role="attention"),
        *linear("self_attn.o_proj", hidden, q, role="attention", shard="row", bias=bias),
    )


def _feed_forward(cfg: Config) -> Groups:
    """Experts, and a router of three layers with one class more than there are experts: none of them."""
    hidden, width, n_experts = cfg.integer("hidden_size"), cfg.integer("router_hidden_size"), cfg.integer("num_experts")
    name = "mlp.gate"
    return (
        *norm("post_attention_layernorm", hidden),
        *linear(f"{name}.down_proj", width, hidden, role="router", bias=True),
        *norm(f"{name}.router_mlp.norm", width),
        *linear(f"{name}.router_mlp.fc1", width, width, role="router", bias=True),
        *linear(f"{name}.router_mlp.fc2", width, width, role="router", bias=True),
        *linear(f"{name}.router_mlp.out_proj", n_experts + 1, width, role="router"),
        WeightGroup(f"{name}.balancing_biases", "scale", n_experts + 1, dtype="float32"),
        *copies(gated_mlp(hidden, cfg.integer("moe_intermediate_size"), name="mlp.experts", role="expert"), n_experts),
    )


def _predecessor(cfg: Config) -> Groups:
    return vector("mlp.gate.router_states_scale", cfg.integer("router_hidden_size"), role="router")


def _scales(hidden: int) -> Groups:
    """Scale and bias of the block's output and of the residual, after both blocks."""
    places = ("post_attention_residual_scale", "post_mlp_residual_scale")
    parts = ("hidden_states_scale", "hidden_states_bias", "residual_scale", "residual_bias")
    return tuple(group for place in places for part in parts for group in vector(f"{place}.{part}", hidden, role="other"))
