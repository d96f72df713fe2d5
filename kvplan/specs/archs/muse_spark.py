"""Muse Spark's text model: experts in a narrower space of their own, gated attention, gates on both residuals.

Source: transformers 5.24 models/muse_spark (MuseSparkTextConfig, MuseSparkTextModel).
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, layer_kinds, mixer, read_heads
from kvplan.specs.parts.blocks import Groups, gated_mlp, linear, norm, vector
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.forms import NORMED_ROTATION, moe_moments
from kvplan.specs.parts.sparse import by_kind, experts_per_token

MODEL_TYPES = ("muse_spark_text",)

_DEFAULTS: Mapping[str, object] = {
    "num_key_value_heads": 16,
    "head_dim": 64,
    "sliding_window": 2048,
    "moe_intermediate_size": 4096,
    "moe_hidden_size": 4096,
    "num_local_experts": 256,
    "num_experts_per_tok": 8,
    "max_position_embeddings": 1048576,
}


def build(cfg: Config) -> ModelSpec:
    """Full attention in every fourth layer counted from the last, without positions; q and k norms have no weights."""
    cfg = completed(cfg, _DEFAULTS)
    n_layers, hidden, n_experts = cfg.n_layers(), cfg.integer("hidden_size"), cfg.integer("num_local_experts")
    heads = read_heads(cfg, hidden)
    default = tuple("full_attention" if (n_layers - 1 - i) % 4 == 0 else "sliding_attention" for i in range(n_layers))
    kinds, window = layer_kinds(cfg, n_layers, default), cfg.optional_integer("sliding_window")
    experts = MoeFfn(n_experts, experts_per_token(cfg, "num_experts_per_tok", of=n_experts), cfg.integer("moe_intermediate_size"))
    ffns = by_kind(cfg, DenseFfn(cfg.integer("intermediate_size")), experts, ("sparse",) * n_layers)
    mixing = _attention(cfg, hidden, heads)
    made = {
        (kind, ffn): Layer((mixer(kind, heads, cfg, window=window),), (ffn,), (*mixing, *_feed_forward(cfg, hidden, ffn)))
        for kind, ffn in dict.fromkeys(zip(kinds, ffns, strict=True))
    }
    form = ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim), attention=NORMED_ROTATION, moe=moe_moments(float32=True))
    return assemble(cfg, [made[pair] for pair in zip(kinds, ffns, strict=True)], Style(), form)


def _attention(cfg: Config, hidden: int, heads: Heads) -> Groups:
    bias = cfg.flag("attention_bias", default=False)
    return (
        *norm("input_layernorm", hidden),
        *attention(hidden, heads, qkv_bias=bias, o_bias=bias),
        *linear("self_attn.gate_proj", heads.n_heads * heads.head_dim, hidden, role="attention", shard="column"),
        *norm("pre_feedforward_layernorm", hidden),
        *norm("post_feedforward_layernorm", hidden),
        *vector("post_attention_residual_gate.gate", hidden, role="other", dtype="float32"),
        *vector("post_feedforward_residual_gate.gate", hidden, role="other", dtype="float32"),
    )


def _feed_forward(cfg: Config, hidden: int, ffn: Ffn) -> Groups:
    """A mixture routes on the model's width and computes on ``moe_hidden_size``."""
    if ffn.kind == "dense":
        return gated_mlp(hidden, ffn.intermediate)
    width = cfg.integer("moe_hidden_size")
    style = MoeStyle(router_dtype="float32", correction="buffer", correction_dtype="float32")
    inner = tuple(group._replace(cols=hidden) if group.name == "mlp.gate.weight" else group for group in moe(width, ffn, style))
    return (
        *inner,
        *linear("mlp.pre_expert_proj", width, hidden, role="mlp"),
        *linear("mlp.post_expert_proj", hidden, width, role="mlp"),
        *norm("mlp.pre_expert_norm", width),
        *norm("mlp.experts.post_expert_norm", width),
    )
