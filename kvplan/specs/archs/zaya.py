"""ZAYA: attention on convolved queries and keys, whose values take half of their width from the previous token; mixtures everywhere.

Source: transformers 5.24 models/zaya; Figliolia et al. 2025, arXiv:2510.04476 (compressed convolutional attention).
"""

from kvplan.core.mixers import Mixer, ShortConv
from kvplan.core.model import ActivationForm, Layer, ModelSpec, MoeFfn
from kvplan.specs.attention import Heads, full, read_heads, sliding
from kvplan.specs.blocks import Groups, copies, gated_mlp, linear, norm, vector
from kvplan.specs.config import Config
from kvplan.specs.decoder import Style, assemble, rotary_dim

MODEL_TYPES = ("zaya",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 262272,
    "hidden_size": 2048,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 40,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "max_position_embeddings": 131072,
    "num_experts": 16,
}


def build(cfg: Config) -> ModelSpec:
    """Each layer keeps keys and values, the last inputs of its convolutions, and half a value of the last token."""
    cfg = cfg.with_defaults(_DEFAULTS)
    hidden, n_layers = cfg.integer("hidden_size"), cfg.n_layers()
    heads = read_heads(cfg, hidden)
    ffn = MoeFfn(cfg.integer("num_experts", "num_local_experts"), _one_expert(cfg), cfg.integer("moe_intermediate_size"))
    kinds = cfg.per_layer("layer_types", n_layers, cfg.texts("layer_types", default=["hybrid"] * n_layers))
    window = cfg.optional_integer("sliding_window")
    mixing = _attention(cfg, hidden, heads)
    made = {}
    for first, kind in dict.fromkeys(zip([True] + [False] * (n_layers - 1), kinds, strict=True)):
        weights = (*_norms(hidden), *mixing, *_mixture(cfg, hidden, ffn, first=first))
        made[first, kind] = Layer(_mixers(cfg, kind, heads, window), (ffn,), weights)
    layers = [made[i == 0, kind] for i, kind in enumerate(kinds)]
    form = ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim, default=0.5), qk_norm=True)
    spec = assemble(cfg, layers, Style(tied=True, head_bias=cfg.flag("lm_head_bias", default=False)), form)
    return spec._replace(weights=(*spec.weights, *_vectors("input_hidden_states", ("scale", "bias"), hidden)))


def _one_expert(cfg: Config) -> int:
    n_active = cfg.integer("num_experts_per_tok", default=1)
    if n_active != 1:
        raise cfg.error("num_experts_per_tok", f"expected 1, the only number ZAYA knows, found {n_active}")
    return n_active


def _mixers(cfg: Config, kind: str, heads: Heads, window: int | None) -> tuple[Mixer, ...]:
    """Attention, the two convolutions on queries and keys as one, and the delayed half of the values."""
    if kind not in ("hybrid", "hybrid_sliding"):
        raise cfg.error("layer_types", f"unknown kind of layer '{kind}'", hint="known: hybrid, hybrid_sliding")
    if kind == "hybrid_sliding" and window is None:
        raise cfg.error("sliding_window", "missing: a layer is 'hybrid_sliding' and no window is given")
    queries_keys = (heads.n_heads + heads.n_kv_heads) * heads.head_dim
    reach = cfg.integer("cca_time0", default=2) + cfg.integer("cca_time1", default=2) - 1
    attends = sliding(heads, window) if kind == "hybrid_sliding" and window else full(heads)
    return attends, ShortConv(queries_keys, reach), ShortConv(heads.n_kv_heads * heads.head_dim // 2, 2)


def _attention(cfg: Config, hidden: int, heads: Heads) -> Groups:
    """Projections, a depthwise and a grouped convolution over queries and keys, one temperature per KV head."""
    q, kv = heads.n_heads * heads.head_dim, heads.n_kv_heads * heads.head_dim
    bias = cfg.flag("attention_bias", default=False)
    grouped = linear("qkv_proj.conv_qk_grouped", q + kv, heads.head_dim * cfg.integer("cca_time1", default=2), role="attention", bias=True)
    return (
        *linear("qkv_proj.q_proj", q, hidden, role="attention", shard="column", bias=bias),
        *linear("qkv_proj.k_proj", kv, hidden, role="attention", shard="kv", bias=bias),
        *linear("qkv_proj.v_proj_current", kv // 2, hidden, role="attention", shard="kv", bias=bias),
        *linear("qkv_proj.v_proj_delayed", kv // 2, hidden, role="attention", shard="kv", bias=bias),
        *linear("qkv_proj.conv_qk_depthwise", q + kv, cfg.integer("cca_time0", default=2), role="attention", bias=True),
        *grouped,
        *vector("self_attn.qk_norm.temp", heads.n_kv_heads, role="attention"),
        *linear("self_attn.o_proj", hidden, q, role="attention", shard="row", bias=bias),
    )


def _norms(hidden: int) -> Groups:
    """Two norms, and after each block four vectors that scale and shift the block's output and the residual."""
    parts = ("hidden_states_scale", "hidden_states_bias", "residual_scale", "residual_bias")
    return (
        *norm("input_layernorm", hidden),
        *norm("post_attention_layernorm", hidden),
        *_vectors("post_attention_residual_scale", parts, hidden),
        *_vectors("post_mlp_residual_scale", parts, hidden),
    )


def _vectors(name: str, parts: tuple[str, ...], size: int) -> Groups:
    return tuple(group for part in parts for group in vector(f"{name}.{part}", size, role="other"))


def _mixture(cfg: Config, hidden: int, ffn: MoeFfn, *, first: bool) -> Groups:
    """Experts and a router that is itself a network; all routers but the first also read the one before.

    The router has one class more than there are experts: to visit none. Its balancing biases are a buffer.
    """
    width, n_classes = cfg.integer("router_hidden_size", default=256), ffn.n_experts + 1
    return (
        *linear("mlp.gate.down_proj", width, hidden, role="router", bias=True),
        *(() if first else vector("mlp.gate.router_states_scale", width, role="router")),
        *norm("mlp.gate.router_mlp.norm", width),
        *linear("mlp.gate.router_mlp.fc1", width, width, role="router", bias=True),
        *linear("mlp.gate.router_mlp.fc2", width, width, role="router", bias=True),
        *linear("mlp.gate.router_mlp.out_proj", n_classes, width, role="router"),
        *vector("mlp.gate.balancing_biases", n_classes, role="scale", dtype="float32"),
        *copies(gated_mlp(hidden, ffn.intermediate, name="mlp.experts", role="expert"), ffn.n_experts),
    )
