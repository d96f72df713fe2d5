"""Lara Mini: gated delta networks, windowed and full attention in turns; a mixture with a shared expert in every layer.

Source: transformers 5.24 models/lara_mini.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import attention, full, read_heads, sliding
from kvplan.specs.parts.blocks import norm, periodic
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.forms import NORMED_ROTATION
from kvplan.specs.parts.hybrid import FeedForward, Mixing, mixed_layers, read_kinds
from kvplan.specs.parts.sparse import experts_per_token
from kvplan.specs.parts.state_space import read_delta, split_delta

MODEL_TYPES = ("lara_mini",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 151936,
    "hidden_size": 1024,
    "num_hidden_layers": 34,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "max_position_embeddings": 131072,
    "linear_num_key_heads": 8,
    "linear_num_value_heads": 16,
    "num_experts": 128,
}
_KINDS = ("linear_attention", "sliding_attention", "full_attention")
_FIVE = ("linear_attention", "sliding_attention", "linear_attention", "full_attention", "sliding_attention")


def build(cfg: Config) -> ModelSpec:
    """The published turn of five layers, unless ``layer_types`` says otherwise."""
    cfg = completed(cfg, _DEFAULTS)
    hidden = cfg.integer("hidden_size")
    heads, net = read_heads(cfg, hidden), read_delta(cfg)
    bias = cfg.flag("attention_bias", default=False)
    attending = attention(hidden, heads, qkv_bias=bias, o_bias=bias, qk_norm="head")
    ways = {
        "linear_attention": Mixing((net,), split_delta(hidden, net)),
        "sliding_attention": Mixing((sliding(heads, cfg.integer("sliding_window", default=512)),), attending),
        "full_attention": Mixing((full(heads),), attending),
    }
    kinds = read_kinds(cfg, _KINDS, periodic(cfg.n_layers(), _FIVE))
    n_experts = cfg.integer("num_experts", "num_local_experts")
    ffn = MoeFfn(
        n_experts,
        experts_per_token(cfg, "num_experts_per_tok", of=n_experts, default=4),
        cfg.integer("moe_intermediate_size", default=512),
        cfg.integer("shared_expert_intermediate_size", default=512),
    )
    feed = FeedForward(ffn, moe(hidden, ffn, MoeStyle(shared="shared_expert")))
    norms = (*norm("input_layernorm", hidden), *norm("post_attention_layernorm", hidden))
    layers = mixed_layers([ways[kind] for kind in kinds], [feed] * len(kinds), norms)
    return assemble(cfg, layers, Style(tied=True), ActivationForm(rotary_dim=heads.head_dim, attention=NORMED_ROTATION))
