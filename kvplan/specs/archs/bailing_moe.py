"""Ling and Ring, first and second generation: routed and shared experts, dense layers first where the config has some.

The second generation normalizes q and k per head, corrects routing scores and may predict further tokens.
Source: inclusionAI/Ling models/modeling_bailing_moe.py, inclusionAI/Ling-mini-2.0 modeling_bailing_moe_v2.py; vLLM models/bailing_moe.py.
"""

from kvplan.core.model import ActivationForm, DenseFfn, Ffn, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.decoder import Style, rotary_width
from kvplan.specs.experts import MoeStyle
from kvplan.specs.mtp import n_next_token, next_token
from kvplan.specs.sparse import experts_per_token, first_dense, sparse_decoder

MODEL_TYPES = ("bailing_moe", "bailing_moe_v2")


def build(cfg: Config) -> ModelSpec:
    """``use_bias`` is on every projection but the experts' routers, ``use_qkv_bias`` on queries, keys and values alone."""
    second = cfg.text("model_type", default="bailing_moe") == "bailing_moe_v2"
    bias = cfg.flag("use_bias", default=False)
    normed = second and cfg.flag("use_qk_norm", default=True)
    style = Style(
        qkv_bias=bias or cfg.flag("use_qkv_bias", default=False),
        o_bias=bias,
        qk_norm="head" if normed else None,
    )
    form = ActivationForm(rotary_dim=rotary_width(cfg), fused_qkv=True, qk_norm=normed)
    moe = MoeStyle(correction="buffer" if second else None, correction_dtype="float32", mlp_bias=bias, expert_bias=bias)
    spec = sparse_decoder(cfg, style, _ffns(cfg), moe, form)
    return spec._replace(mtp=next_token(spec.hidden_size, spec.runs[-1].layer, n_next_token(cfg) if second else 0))


def _ffns(cfg: Config) -> tuple[Ffn, ...]:
    width, n_experts = cfg.integer("moe_intermediate_size"), cfg.integer("num_experts")
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    moe = MoeFfn(n_experts, n_active, width, width * cfg.integer("num_shared_experts", default=0, least=0))
    n_dense = cfg.integer("first_k_dense_replace", default=0, least=0)
    return first_dense(cfg.n_layers(), n_dense, DenseFfn(cfg.integer("intermediate_size")), moe)
