"""Mixtral and the mixtures built like it: in every layer the feed-forward is a choice among equal experts.

Phi-3.5-MoE and GRIN-MoE have layer norms with shifts and biases, MiniMax-M2 normalizes whole q and k projections.
Source: transformers 5.24 models/mixtral, models/phimoe, models/minimax_m2; Jiang et al. 2024, arXiv:2401.04088 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.decoder import Style, rotary_dim
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.forms import NORMED_ROTATION, ROTATION, moe_moments
from kvplan.specs.parts.sparse import experts_per_token, sparse_decoder

MODEL_TYPES = ("mixtral", "phimoe", "grinmoe", "minimax_m2")


def build(cfg: Config) -> ModelSpec:
    """Experts are as wide as ``intermediate_size``; a ``sliding_window``, where the class knows one, is every layer's."""
    model_type = cfg.text("model_type", default="mixtral")
    n_experts, n_active = {"mixtral": (8, 2), "phimoe": (16, 2), "grinmoe": (16, 2), "minimax_m2": (256, 8)}[model_type]
    n_experts = cfg.integer("num_local_experts", "num_experts", default=n_experts)
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts, default=n_active)
    ffn = MoeFfn(n_experts, n_active, cfg.integer("intermediate_size"))
    style, moe = _phimoe(cfg) if model_type in ("phimoe", "grinmoe") else _minimax(cfg) if model_type == "minimax_m2" else _mixtral(cfg)
    width = read_heads(cfg, cfg.integer("hidden_size"), head_dim=style.head_dim, n_kv_heads=style.n_kv_heads).head_dim
    form = ActivationForm(
        rotary_dim=cfg.integer("rotary_dim", default=rotary_dim(cfg, width)),
        attention=NORMED_ROTATION if style.qk_norm is not None else ROTATION,
        norm="3H + 2fH" if not style.norm_bias else "5H",
        moe=moe_moments(float32=not style.norm_bias),
        checked=cfg.text("model_type", default="mixtral") != "grinmoe",
    )
    return sparse_decoder(cfg, style, (ffn,) * cfg.n_layers(), moe, form)


def _mixtral(cfg: Config) -> tuple[Style, MoeStyle]:
    return _windowed(cfg, Style(n_kv_heads=8)), MoeStyle(name="block_sparse_moe")


def _phimoe(cfg: Config) -> tuple[Style, MoeStyle]:
    bias = cfg.flag("attention_bias", default=False)
    style = Style(n_kv_heads=8, norm_bias=True, qkv_bias=bias, o_bias=bias, head_bias=cfg.flag("lm_head_bias", default=False))
    return _windowed(cfg, style), MoeStyle(name="block_sparse_moe")


def _minimax(cfg: Config) -> tuple[Style, MoeStyle]:
    return Style(n_kv_heads=8, head_dim=128, qk_norm="full"), MoeStyle(name="block_sparse_moe", correction="buffer")


def _windowed(cfg: Config, style: Style) -> Style:
    window = cfg.optional_integer("sliding_window")
    return style._replace(window=window, kinds=("sliding_attention",)) if window else style
