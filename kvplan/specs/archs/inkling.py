"""Inkling's text model: relative positions, short convolutions on keys, values and both blocks' outputs, shared experts routed too.

Source: transformers 5.24 models/inkling (InklingTextConfig, InklingForCausalLM).
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import FullAttention, Mixer, ShortConv, SlidingAttention
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention
from kvplan.specs.parts.blocks import Groups, gated_mlp, linear, norm, vector
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.forms import NORMED_ROTATION
from kvplan.specs.parts.mtp import n_next_token, next_token
from kvplan.specs.parts.sparse import by_kind, experts_per_token

MODEL_TYPES = ("inkling_text",)

_DEFAULTS: Mapping[str, object] = {
    "num_key_value_heads": 8,
    "head_dim": 128,
    "swa_num_attention_heads": 64,
    "swa_num_key_value_heads": 16,
    "swa_head_dim": 128,
    "sliding_window_size": 512,
    "d_rel": 16,
    "rel_extent": 1024,
    "conv_kernel_size": 4,
    "n_routed_experts": 256,
    "num_experts_per_tok": 6,
    "n_shared_experts": 2,
    "max_position_embeddings": 131072,
}
_NAMES = {
    "sliding_window": "sliding_window_size",
    "num_local_experts": "n_routed_experts",
    "sconv_kernel_size": "conv_kernel_size",
    "model_max_length": "max_position_embeddings",
}
_KINDS = ("hybrid", "hybrid_sliding")


def build(cfg: Config) -> ModelSpec:
    """Every sixth layer sees everything; output projection and embeddings are never tied, and there are no rotary tables."""
    cfg = completed(cfg.renamed(_NAMES), _DEFAULTS)
    cfg = Config({**cfg.data, **_widths(cfg), "tie_word_embeddings": False}, where=cfg.where, path=cfg.path)
    hidden, kinds = cfg.integer("hidden_size"), _kinds(cfg)
    made = {pair: _layer(cfg, *pair) for pair in dict.fromkeys(zip(kinds, _ffns(cfg), strict=True))}
    spec = assemble(cfg, [made[pair] for pair in zip(kinds, _ffns(cfg), strict=True)], Style(), ActivationForm(attention=NORMED_ROTATION))
    dense = DenseFfn(cfg.integer("intermediate_size"))
    local = cfg.integers("mtp_local_layer_ids", default=())
    following = [_layer(cfg, _KINDS[i in local], dense) for i in range(n_next_token(cfg))]
    mtp = tuple(run for layer in following for run in next_token(hidden, layer, 1, end_norm=False))
    return spec._replace(weights=(*spec.weights, *norm("embed_norm", hidden)), mtp=mtp)


def _widths(cfg: Config) -> dict[str, int]:
    """Widths of dense layers and experts: published files give the dense one a key of its own."""
    if not cfg.has("dense_intermediate_size"):
        return {"moe_intermediate_size": cfg.integer("moe_intermediate_size", default=3072)}
    return {
        "moe_intermediate_size": cfg.integer("intermediate_size"),
        "intermediate_size": cfg.integer("dense_intermediate_size"),
        "dense_intermediate_size": cfg.integer("dense_intermediate_size"),
    }


def _kinds(cfg: Config) -> tuple[str, ...]:
    n_layers = cfg.n_layers()
    local = frozenset(cfg.integers("local_layer_ids", default=[i for i in range(n_layers) if (i + 1) % 6]))
    kinds = cfg.texts("layer_types", default=[_KINDS[i in local] for i in range(n_layers)])
    strange = next((kind for kind in kinds if kind not in _KINDS), None)
    if strange:
        raise cfg.error("layer_types", f"unknown kind of layer '{strange}'", hint=f"known: {', '.join(_KINDS)}")
    return tuple(cfg.per_layer("layer_types", n_layers, kinds))


def _ffns(cfg: Config) -> tuple[Ffn, ...]:
    """The shared experts take part in routing, but every token visits them."""
    n_experts, width = cfg.integer("n_routed_experts"), cfg.integer("moe_intermediate_size")
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    mixture = MoeFfn(n_experts, n_active, width, width * cfg.integer("n_shared_experts", least=0))
    n_dense = cfg.integer("dense_mlp_idx", default=0, least=0)
    default = tuple("dense" if i < n_dense else "sparse" for i in range(cfg.n_layers()))
    return by_kind(cfg, DenseFfn(cfg.integer("intermediate_size")), mixture, default)


def _layer(cfg: Config, kind: str, ffn: Ffn) -> Layer:
    hidden, kernel, sliding = cfg.integer("hidden_size"), cfg.integer("conv_kernel_size"), kind == "hybrid_sliding"
    own = "swa_" if sliding else ""
    width = cfg.integer(f"{own}head_dim")
    heads = Heads(cfg.integer(f"{own}num_attention_heads"), cfg.integer(f"{own}num_key_value_heads"), width, width)
    window, d_rel = cfg.integer("sliding_window_size"), cfg.integer("d_rel")
    kv = heads.n_kv_heads * width
    mixers: tuple[Mixer, ...] = (
        SlidingAttention(*heads, window) if sliding else FullAttention(*heads),
        ShortConv(2 * kv + 2 * hidden, kernel),
    )
    weights = (
        *norm("input_layernorm", hidden),
        *norm("post_attention_layernorm", hidden),
        *attention(hidden, heads, qk_norm="head"),
        *linear("self_attn.r_proj", heads.n_heads * d_rel, hidden, role="attention", shard="column"),
        *linear("self_attn.rel_logits_proj", d_rel, window if sliding else cfg.integer("rel_extent"), role="attention"),
        *_convolution("self_attn.k_sconv", kv, kernel),
        *_convolution("self_attn.v_sconv", kv, kernel),
        *_convolution("attn_sconv", hidden, kernel),
        *_convolution("mlp_sconv", hidden, kernel),
    )
    return Layer(mixers, (ffn,), (*weights, *_feed_forward(cfg, hidden, ffn)))


def _convolution(name: str, channels: int, kernel: int) -> Groups:
    return (WeightGroup(f"{name}.conv1d.weight", "mixer", channels, kernel, dtype="float32"),)


def _feed_forward(cfg: Config, hidden: int, ffn: Ffn) -> Groups:
    """The router scores shared experts as well, and either kind of block has one learned scale."""
    if ffn.kind == "dense":
        return (*gated_mlp(hidden, ffn.intermediate), *vector("mlp.global_scale", 1, role="mlp"))
    shared = linear("mlp.gate.shared", cfg.integer("n_shared_experts"), hidden, role="router") if ffn.shared_intermediate else ()
    scale = vector("mlp.gate.global_scale", 1, role="router", dtype="float32")
    return (*moe(hidden, ffn, MoeStyle(correction="buffer", correction_dtype="float32")), *shared, *scale)
