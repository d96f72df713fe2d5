"""Qwen's mixtures with ordinary attention, and Flint: a mixture in every ``decoder_sparse_step``-th layer.

Qwen2-MoE adds a gated expert that every token visits; Qwen3's have q/k norms and none; Flint has both, and sinks.
Source: transformers 5.24 models/qwen2_moe, qwen3_moe, qwen3_vl_moe, qwen3_omni_moe, flint; arXiv:2407.10671 §2.2, arXiv:2505.09388 §2.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.blocks import periodic, vector
from kvplan.specs.parts.decoder import Style, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.forms import NORMED_ROTATION, ROTATION, moe_moments
from kvplan.specs.parts.sparse import by_step, experts_per_token, sparse_decoder

MODEL_TYPES = ("qwen2_moe", "qwen3_moe", "qwen3_vl_moe_text", "qwen3_omni_moe_text", "flint")

_QWEN2 = {
    "num_key_value_heads": 16,
    "moe_intermediate_size": 1408,
    "num_experts_per_tok": 4,
    "shared_expert_intermediate_size": 5632,
    "qkv_bias": True,
    "max_position_embeddings": 32768,
}
_QWEN3 = {
    "num_key_value_heads": 4,
    "moe_intermediate_size": 768,
    "num_experts_per_tok": 8,
    "max_position_embeddings": 32768,
}
_QWEN3_VL = {
    "num_key_value_heads": 16,
    "moe_intermediate_size": 1408,
    "num_experts_per_tok": 4,
    "max_position_embeddings": 128000,
    "tie_word_embeddings": True,
}
_FLINT = {
    "num_key_value_heads": 4,
    "head_dim": 128,
    "moe_intermediate_size": 512,
    "num_experts_per_tok": 6,
    "shared_expert_intermediate_size": 1024,
    "sliding_window": 513,
    "max_position_embeddings": 262144,
}
_DEFAULTS: Mapping[str, tuple[Mapping[str, object], int]] = {
    "qwen2_moe": (_QWEN2, 60),
    "qwen3_moe": (_QWEN3, 128),
    "qwen3_vl_moe_text": (_QWEN3_VL, 60),
    "qwen3_omni_moe_text": (_QWEN3, 128),
    "flint": (_FLINT, 256),
}


def build(cfg: Config) -> ModelSpec:
    """Class defaults fill what is left out; ``num_experts: 0`` makes every layer dense."""
    model_type = cfg.text("model_type", default="qwen3_moe")
    defaults, n_experts = _DEFAULTS[model_type]
    cfg = completed(cfg, defaults)
    ffns = _ffns(cfg, model_type, cfg.integer("num_local_experts", "num_experts", default=n_experts, least=0))
    head_dim = read_heads(cfg, cfg.integer("hidden_size")).head_dim
    form = ActivationForm(
        attention=ROTATION if model_type == "qwen2_moe" else NORMED_ROTATION,
        moe=moe_moments(hidden="5H" if model_type == "qwen2_moe" else "4H"),
        rotary_dim=rotary_dim(cfg, head_dim),
        idle_masks=1 if model_type == "qwen2_moe" and not cfg.flag("use_sliding_window", default=False) else 0,
        checked=True,
    )
    if model_type == "qwen2_moe":
        return sparse_decoder(cfg, _qwen2(cfg), ffns, MoeStyle(shared="shared_expert", shared_gate=True), form)
    if model_type == "flint":
        sinks = vector("self_attn.sinks", cfg.integer("num_attention_heads"), role="attention", dtype="float32")
        moe = MoeStyle(shared="shared_expert", router_dtype="float32")
        return sparse_decoder(cfg, _flint(cfg), ffns, moe, _sinking(form), sinks)
    return sparse_decoder(cfg, _qwen3(cfg, model_type), ffns, MoeStyle(), form)


def _ffns(cfg: Config, model_type: str, n_experts: int) -> tuple[Ffn, ...]:
    dense = DenseFfn(cfg.integer("intermediate_size"))
    if n_experts == 0:
        return (dense,) * cfg.n_layers()
    shared = cfg.integer("shared_expert_intermediate_size") if model_type in ("qwen2_moe", "flint") else 0
    moe = MoeFfn(n_experts, experts_per_token(cfg, "num_experts_per_tok", of=n_experts), cfg.integer("moe_intermediate_size"), shared)
    return by_step(cfg, dense, moe, dense_layers=(0, 1) if model_type == "flint" else ())


def _qwen2(cfg: Config) -> Style:
    """Every second layer below ``max_window_layers`` slides, and only with ``use_sliding_window``."""
    style, n_layers = Style(qkv_bias=cfg.flag("qkv_bias")), cfg.n_layers()
    if not cfg.flag("use_sliding_window", default=False):
        return style
    first_full = cfg.integer("max_window_layers", default=28, least=0)
    kinds = tuple("sliding_attention" if i % 2 == 0 and i < first_full else "full_attention" for i in range(n_layers))
    return style._replace(window=cfg.integer("sliding_window", default=4096), kinds=kinds)


def _qwen3(cfg: Config, model_type: str) -> Style:
    """The text-only class slides in every layer with ``use_sliding_window``; the others never do."""
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, qk_norm="head")
    if model_type != "qwen3_moe" or not cfg.flag("use_sliding_window", default=False):
        return style
    window = cfg.optional_integer("sliding_window", default=4096)
    return style._replace(window=window, kinds=("sliding_attention",)) if window else style


def _sinking(form: ActivationForm) -> ActivationForm:
    """Scores with sinks, whose product reads float32 copies of queries and of repeated keys, the keys once more in rows."""
    product = ("3H + Q + 2fQ + fNL",)
    return form._replace(attention=product, attention_context="Q + O + fQ", scores="3fNL + 2fN", eager_only=True, checked=False)


def _flint(cfg: Config) -> Style:
    """Full attention in layers 0, 1, 5, 9 … and in the last."""
    bias, last = cfg.flag("attention_bias", default=False), cfg.n_layers() - 1
    pattern = ("sliding_attention", "full_attention", "sliding_attention", "sliding_attention")
    kinds = tuple("full_attention" if i in (0, last) else kind for i, kind in enumerate(periodic(last + 1, pattern)))
    return Style(qkv_bias=bias, o_bias=bias, qk_norm="head", window=cfg.integer("sliding_window"), kinds=kinds)
