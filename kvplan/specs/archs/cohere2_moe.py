"""Cohere's mixture: attention and experts side by side after one norm, three of four layers sliding.

Source: transformers 5.24 models/cohere2_moe.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, ModelSpec, MoeFfn
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import periodic
from kvplan.specs.parts.decoder import Style, completed, rotary_width
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.sparse import by_kind, experts_per_token, sparse_decoder

MODEL_TYPES = ("cohere2_moe",)

_DEFAULTS: Mapping[str, object] = {
    "head_dim": 128,
    "sliding_window": 4096,
    "sliding_window_pattern": 4,
    "prefix_dense_sliding_window_pattern": 1,
    "first_k_dense_replace": 0,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "num_shared_experts": 0,
    "tie_word_embeddings": True,
    "max_position_embeddings": 8192,
}


def build(cfg: Config) -> ModelSpec:
    """The first ``first_k_dense_replace`` layers are dense and have a pattern of windows of their own."""
    cfg = completed(cfg, _DEFAULTS)
    n_layers, n_dense = cfg.n_layers(), cfg.integer("first_k_dense_replace", least=0)
    width, n_experts = cfg.integer("intermediate_size"), cfg.integer("num_experts")
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    moe = MoeFfn(n_experts, n_active, width, width * cfg.integer("num_shared_experts", least=0))
    dense = DenseFfn(cfg.integer("prefix_dense_intermediate_size", default=width))
    ffns = by_kind(cfg, dense, moe, tuple("dense" if i < n_dense else "sparse" for i in range(n_layers)))
    bias = cfg.flag("attention_bias", default=False)
    style = Style(
        qkv_bias=bias,
        o_bias=bias,
        layer_norms=("input_layernorm",),
        window=cfg.optional_integer("sliding_window"),
        kinds=(*_kinds(cfg, "prefix_dense_sliding_window_pattern", n_dense), *_kinds(cfg, "sliding_window_pattern", n_layers - n_dense)),
    )
    normed = "3H + 2fH" if cfg.has("rms_norm_eps") else "2H + 3fH"
    form = ActivationForm(norm=normed, logits="2W", rotary_dim=rotary_width(cfg), checked=True)
    return sparse_decoder(cfg, style, ffns, MoeStyle(), form)


def _kinds(cfg: Config, key: str, n_layers: int) -> tuple[str, ...]:
    """Full attention in every layer that the number at ``key`` divides, counted from 1."""
    return periodic(n_layers, (*("sliding_attention",) * (cfg.integer(key, most=MAX_LAYERS) - 1), "full_attention"))
