"""K-EXAONE, Hunyuan 3 and Mellum: q/k norms per head, and a list that says which layers are mixtures.

Source: transformers 5.24 models/exaone_moe, models/hy_v3, models/mellum.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.attention import full, mixer, read_heads
from kvplan.specs.parts.decoder import Style, block_weights, completed, rotary_width
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.forms import NORMED_ROTATION, moe_moments
from kvplan.specs.parts.mtp import n_next_token, next_token
from kvplan.specs.parts.sparse import by_kind, experts_per_token, sparse_decoder

MODEL_TYPES = ("exaone_moe", "hy_v3", "mellum")

_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "exaone_moe": {
        "num_key_value_heads": 32,
        "sliding_window": 4096,
        "sliding_window_pattern": 4,
        "first_k_dense_replace": 1,
        "moe_intermediate_size": 1024,
        "num_experts_per_tok": 8,
        "num_shared_experts": 1,
        "max_position_embeddings": 2048,
    },
    "hy_v3": {
        "num_key_value_heads": 8,
        "head_dim": 128,
        "moe_intermediate_size": 1536,
        "num_experts_per_tok": 8,
        "num_shared_experts": 1,
        "max_position_embeddings": 131072,
    },
    "mellum": {
        "num_key_value_heads": 4,
        "head_dim": 128,
        "sliding_window": 1024,
        "moe_intermediate_size": 896,
        "num_experts_per_tok": 8,
        "num_shared_experts": 0,
        "max_position_embeddings": 131072,
    },
}
_N_EXPERTS = {"exaone_moe": 64, "hy_v3": 192, "mellum": 64}
_FLOAT32_ROUTER = MoeStyle(router_dtype="float32", correction="buffer", correction_dtype="float32")


def build(cfg: Config) -> ModelSpec:
    """Where ``mlp_layer_types`` doesn't say, K-EXAONE's first layers and Hunyuan's first one are dense, Mellum's none."""
    model_type = cfg.text("model_type", default="exaone_moe")
    cfg = completed(cfg, _DEFAULTS[model_type])
    style, ffns = _style(cfg, model_type), _ffns(cfg, model_type)
    form = ActivationForm(
        attention=NORMED_ROTATION, moe=moe_moments(float32=model_type != "mellum"), rotary_dim=rotary_width(cfg), checked=True
    )
    if model_type == "exaone_moe":
        return _with_dense_next_token(sparse_decoder(cfg, style, ffns, _FLOAT32_ROUTER, form), cfg, style)
    if model_type == "hy_v3":
        return sparse_decoder(cfg, style, ffns, _FLOAT32_ROUTER._replace(mlp_bias=cfg.flag("mlp_bias", default=False)), form)
    form = form._replace(rope_tables=len(set(cfg.texts("layer_types", default=("full_attention",)))))
    return _with_next_token(sparse_decoder(cfg, style, ffns, MoeStyle(), form), cfg, style.window)


def _ffns(cfg: Config, model_type: str) -> tuple[Ffn, ...]:
    n_layers, width = cfg.n_layers(), cfg.integer("moe_intermediate_size")
    n_experts = cfg.integer("num_local_experts", "num_experts", default=_N_EXPERTS[model_type])
    shared = 0 if model_type == "mellum" else width * cfg.integer("num_shared_experts", least=0)
    moe = MoeFfn(n_experts, experts_per_token(cfg, "num_experts_per_tok", of=n_experts), width, shared)
    n_dense = {"exaone_moe": cfg.integer("first_k_dense_replace", default=1, least=0), "hy_v3": 1, "mellum": 0}[model_type]
    default = tuple("dense" if i < n_dense else "sparse" for i in range(n_layers))
    return by_kind(cfg, DenseFfn(cfg.integer("intermediate_size")), moe, default)


def _style(cfg: Config, model_type: str) -> Style:
    if model_type == "exaone_moe":
        window = cfg.optional_integer("sliding_window")
        pattern = cfg.integer("sliding_window_pattern", most=MAX_LAYERS) if window and not cfg.has("layer_types") else 1
        return Style(qk_norm="head", window=window, kinds=(*("sliding_attention",) * (pattern - 1), "full_attention"))
    bias = cfg.flag("attention_bias", default=False)
    window = cfg.optional_integer("sliding_window") if model_type == "mellum" else None
    return Style(qkv_bias=bias, o_bias=bias, qk_norm="head", window=window)


def _with_dense_next_token(spec: ModelSpec, cfg: Config, style: Style) -> ModelSpec:
    """``spec`` and K-EXAONE's next-token layers, dense and over everything. Source: vLLM models/exaone_moe_mtp.py."""
    heads, width = read_heads(cfg, spec.hidden_size), cfg.integer("intermediate_size")
    dense = Layer((full(heads),), (DenseFfn(width),), block_weights(spec.hidden_size, heads, width, style))
    return spec._replace(mtp=next_token(spec.hidden_size, dense, n_next_token(cfg)))


def _with_next_token(spec: ModelSpec, cfg: Config, window: int | None) -> ModelSpec:
    """``spec`` and Mellum's next-token layer: like the last one, but sliding where the config doesn't say otherwise."""
    n_next = n_next_token(cfg)
    kind = next(iter(cfg.texts("mtp_layer_types", default=())), "sliding_attention")
    mixers = (mixer(kind, read_heads(cfg, spec.hidden_size), cfg, window=window),) if n_next else ()
    return spec._replace(mtp=next_token(spec.hidden_size, spec.runs[-1].layer._replace(mixers=mixers), n_next))
