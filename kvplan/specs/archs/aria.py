"""Aria's text model: routed experts, and shared ones in one feed-forward as wide as several of them.

Source: transformers 5.24 models/aria (AriaTextConfig); Li et al. 2024, arXiv:2410.05993 §2.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, rotary_width
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.sparse import experts_per_token, sparse_decoder

MODEL_TYPES = ("aria_text",)

_DEFAULTS: Mapping[str, object] = {
    "moe_num_experts": 8,
    "moe_topk": 2,
    "moe_num_shared_experts": 2,
    "max_position_embeddings": 2048,
}


def build(cfg: Config) -> ModelSpec:
    """``intermediate_size`` is the width of one expert; ``mlp_bias`` is the shared ones' alone."""
    cfg = completed(cfg, _DEFAULTS)
    width, n_experts = cfg.integer("intermediate_size"), cfg.integer("moe_num_experts")
    n_active = experts_per_token(cfg, "moe_topk", of=n_experts)
    ffn = MoeFfn(n_experts, n_active, width, width * cfg.integer("moe_num_shared_experts", least=0))
    bias = cfg.flag("attention_bias", default=False)
    moe = MoeStyle(router="router", mlp_bias=cfg.flag("mlp_bias", default=False))
    form = ActivationForm(rotary_dim=rotary_width(cfg), merges_experts=False, checked=True)
    return sparse_decoder(cfg, Style(qkv_bias=bias, o_bias=bias), (ffn,) * cfg.n_layers(), moe, form)
