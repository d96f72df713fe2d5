"""Ling and Ring, 1 to 2: grouped attention and a mixture; the linear ones have lightning attention in most layers.

The model authors' own code is the source: inclusionAI/Ling-lite-1.5 modeling_bailing_moe.py, inclusionAI/Ling-mini-2.0
modeling_bailing_moe_v2.py, inclusionAI/Ring-mini-linear-2.0 modeling_bailing_moe_linear_v2.py; Ring-linear, arXiv:2510.19338 §2.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import FullAttention, LinearAttention
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, read_heads
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle, dense_or_moe
from kvplan.specs.parts.forms import FUSED_CORE, NORMED_ROTATION, ROTATION
from kvplan.specs.parts.latent import block_norms, paired
from kvplan.specs.parts.mtp import n_next_token, next_token
from kvplan.specs.parts.sparse import experts_per_token, first_dense

MODEL_TYPES = ("bailing_moe", "bailing_moe_v2", "bailing_moe_linear")

FIRST: Mapping[str, object] = {
    "use_qkv_bias": False,
    "use_bias": False,
    "use_qk_norm": False,
    "num_shared_experts": 0,
    "first_k_dense_replace": 0,
    "moe_router_enable_expert_bias": False,
    "max_position_embeddings": 16384,
}
SECOND: Mapping[str, object] = {**FIRST, "use_qk_norm": True, "moe_router_enable_expert_bias": True, "partial_rotary_factor": 0.5}


def build(cfg: Config) -> ModelSpec:
    """Files of the second generation call themselves ``bailing_moe`` too, and say what is new in keys of their own.

    In a linear model the last layer of each group of ``layer_group_size``, and layers after the last whole group, see all.
    """
    cfg = completed(cfg, FIRST if cfg.text("model_type", default="bailing_moe") == "bailing_moe" else SECOND)
    n_layers, heads = cfg.n_layers(), read_heads(cfg, cfg.integer("hidden_size"))
    n_experts, width = cfg.integer("num_experts"), cfg.integer("moe_intermediate_size")
    shared = cfg.integer("moe_shared_expert_intermediate_size", default=width) * cfg.integer("num_shared_experts", least=0)
    moe = MoeFfn(n_experts, experts_per_token(cfg, "num_experts_per_tok", of=n_experts), width, shared)
    n_dense = cfg.integer("first_k_dense_replace", least=0)
    ffns: tuple[Ffn, ...] = (moe,) * n_layers
    if n_dense:
        ffns = first_dense(n_layers, n_dense, DenseFfn(cfg.integer("intermediate_size")), moe)
    full = FullAttention(*heads)
    lightning = LinearAttention(heads.n_heads, heads.head_dim, heads.head_dim)
    mixers = [full if sees_all else lightning for sees_all in _full_layers(cfg, n_layers)]
    layers = paired(mixers, ffns, lambda mixer, ffn: _layer(cfg, mixer, ffn))
    form = ActivationForm(
        rotary_dim=rotary_dim(cfg, heads.head_dim), attention=NORMED_ROTATION if cfg.flag("use_qk_norm") else ROTATION, core=FUSED_CORE
    )
    mtp = next_token(cfg.integer("hidden_size"), _layer(cfg, full, moe), n_next_token(cfg))
    return assemble(cfg, layers, Style(), form)._replace(mtp=mtp)


def _full_layers(cfg: Config, n_layers: int) -> tuple[bool, ...]:
    if cfg.text("model_type", default="bailing_moe") != "bailing_moe_linear":
        return (True,) * n_layers
    group = cfg.integer("layer_group_size")
    return tuple((i + 1) % group == 0 or i >= n_layers // group * group for i in range(n_layers))


def _layer(cfg: Config, mixer: FullAttention | LinearAttention, ffn: DenseFfn | MoeFfn) -> Layer:
    hidden, bias = cfg.integer("hidden_size"), cfg.flag("use_bias")
    heads = read_heads(cfg, hidden)
    own = heads if mixer.kind == "full" else heads._replace(n_kv_heads=heads.n_heads)
    qk_norm = "head" if cfg.flag("use_qk_norm") else None
    mixing = attention(hidden, own, qkv_bias=cfg.flag("use_qkv_bias") or bias, o_bias=bias, qk_norm=qk_norm)
    style = MoeStyle(correction_dtype="float32", mlp_bias=bias, expert_bias=bias)
    if cfg.flag("moe_router_enable_expert_bias"):
        style = style._replace(correction="buffer")
    weights = (
        *block_norms(hidden),
        *mixing,
        *(_output_gate(hidden, heads) if mixer.kind == "linear" else ()),
        *dense_or_moe(hidden, ffn, style),
    )
    return Layer((mixer,), (ffn,), weights)


def _output_gate(hidden: int, heads: Heads) -> Groups:
    """Lightning attention's gate, and the norm over groups of heads before it."""
    width = heads.n_heads * heads.head_dim
    return (*linear("self_attn.g_proj", width, hidden, role="attention", shard="column"), *norm("self_attn.g_norm", width))
