"""Granite's mixtures without state space: plain, with a shared expert, and with sinks and sliding windows.

Source: transformers 5.24 models/granitemoe, granitemoeshared, granitemoe_swa; IBM 2024, Granite 3.0 report §3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.blocks import vector
from kvplan.specs.parts.decoder import Style, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.sparse import experts_per_token, sparse_decoder

MODEL_TYPES = ("granitemoe", "granitemoeshared", "granitemoe_swa")

_DEFAULTS = {"num_local_experts": 8, "num_experts_per_tok": 2, "shared_intermediate_size": 0, "max_position_embeddings": 2048}


def build(cfg: Config) -> ModelSpec:
    """``shared_intermediate_size`` counts only where the class knows it; layers 0, 4, 8 … of the windowed one are full."""
    cfg, model_type = completed(cfg, _DEFAULTS), cfg.text("model_type", default="granitemoe")
    n_experts = cfg.integer("num_local_experts")
    shared = 0 if model_type == "granitemoe" else cfg.integer("shared_intermediate_size", least=0)
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    ffn = MoeFfn(n_experts, n_active, cfg.integer("intermediate_size"), shared)
    bias, hidden = cfg.flag("attention_bias", default=False), cfg.integer("hidden_size")
    style = Style(qkv_bias=bias, o_bias=bias)
    rotated = rotary_dim(cfg, read_heads(cfg, hidden).head_dim)
    form = ActivationForm(logits="2W", rotary_dim=rotated, merges_experts=False, checked=True)
    moe = MoeStyle(name="block_sparse_moe", router="router", shared="shared_mlp")
    ffns = (ffn,) * cfg.n_layers()
    if model_type != "granitemoe_swa":
        return sparse_decoder(cfg, style, ffns, moe, form)
    kinds = ("full_attention", *("sliding_attention",) * 3)
    style = style._replace(window=cfg.optional_integer("sliding_window", default=128), kinds=kinds)
    sinks = vector("self_attn.sinks", cfg.integer("num_attention_heads"), role="attention")
    return sparse_decoder(cfg, style, ffns, moe, form._replace(scores="NL + 2fNL + N + 2fN", eager_only=True), sinks)
