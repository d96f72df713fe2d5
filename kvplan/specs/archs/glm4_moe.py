"""GLM-4.5 and the mixtures built like it: ordinary attention, a few dense layers first, sigmoid routing with a correction.

GLM-4.5V has no q/k norms, Solar Open no dense layers, dots1 norms always and puts a bias on the output projection too.
Source: transformers 5.24 models/glm4_moe, glm4v_moe, solar_open, sarvam_moe, dots1; GLM-4.5, arXiv:2508.06471 §2.1.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, rotary_width
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.forms import NORMED_ROTATION, ROTATION, moe_moments
from kvplan.specs.parts.mtp import n_next_token, next_token, own_ends
from kvplan.specs.parts.sparse import experts_per_token, first_dense, sparse_decoder

MODEL_TYPES = ("glm4_moe", "glm4v_moe_text", "solar_open", "sarvam_moe", "dots1")

_GLM: Mapping[str, object] = {
    "num_key_value_heads": 8,
    "moe_intermediate_size": 1408,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "n_routed_experts": 128,
    "first_k_dense_replace": 1,
    "use_qk_norm": False,
    "attention_bias": False,
    "partial_rotary_factor": 0.5,
    "max_position_embeddings": 131072,
}
_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "glm4_moe": {**_GLM, "num_nextn_predict_layers": 1},
    "glm4v_moe_text": {**_GLM, "attention_bias": True, "max_position_embeddings": 65536},
    "solar_open": {**_GLM, "head_dim": 128, "moe_intermediate_size": 1280, "partial_rotary_factor": 1.0},
    "sarvam_moe": {
        **_GLM,
        "num_key_value_heads": 4,
        "head_dim": 64,
        "moe_intermediate_size": 1024,
        "num_experts_per_tok": 6,
        "use_qk_norm": True,
        "partial_rotary_factor": 1.0,
    },
    "dots1": {
        "num_key_value_heads": 32,
        "moe_intermediate_size": 1408,
        "first_k_dense_replace": 0,
        "attention_bias": False,
        "sliding_window": 4096,
        "max_window_layers": 62,
        "max_position_embeddings": 2048,
    },
}
_ALIASES = {"num_local_experts": "n_routed_experts", "num_mtp_layers": "num_nextn_predict_layers"}
_SARVAM_ALIASES = {"num_experts": "n_routed_experts", "num_shared_experts": "n_shared_experts", "use_qkv_bias": "attention_bias"}


def build(cfg: Config) -> ModelSpec:
    """The shared experts are one feed-forward ``n_shared_experts`` times as wide as a routed one."""
    model_type = cfg.text("model_type", default="glm4_moe")
    cfg = completed(cfg.renamed({**_ALIASES, **(_SARVAM_ALIASES if model_type == "sarvam_moe" else {})}), _DEFAULTS[model_type])
    if not cfg.names("head_dim"):  # the class rounds down, and its own sizes need that
        cfg = cfg.with_defaults({"head_dim": max(1, cfg.integer("hidden_size") // cfg.integer("num_attention_heads"))})
    style = _style(cfg, model_type)
    form = ActivationForm(
        attention=NORMED_ROTATION if style.qk_norm is not None else ROTATION,
        moe=moe_moments(float32=True),
        rotary_dim=rotary_width(cfg),
        checked=True,
    )
    moe = MoeStyle(router_dtype="float32", correction="buffer", correction_dtype="float32")
    spec = sparse_decoder(cfg, style, _ffns(cfg, model_type), moe, form)
    n_next = n_next_token(cfg) if model_type in ("glm4_moe", "sarvam_moe") else 0
    return spec._replace(mtp=next_token(spec.hidden_size, spec.runs[-1].layer, n_next, own=own_ends(cfg)))


def _ffns(cfg: Config, model_type: str) -> tuple[Ffn, ...]:
    width, n_experts = cfg.integer("moe_intermediate_size"), cfg.integer("n_routed_experts")
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    moe = MoeFfn(n_experts, n_active, width, width * cfg.integer("n_shared_experts", least=0))
    n_dense = 0 if model_type == "solar_open" else cfg.integer("first_k_dense_replace", least=0)
    if n_dense == 0:
        return (moe,) * cfg.n_layers()
    return first_dense(cfg.n_layers(), n_dense, DenseFfn(cfg.integer("intermediate_size")), moe)


def _style(cfg: Config, model_type: str) -> Style:
    bias = cfg.flag("attention_bias")
    if model_type == "dots1":
        window, first = cfg.optional_integer("sliding_window"), cfg.integer("max_window_layers", least=0)
        kinds = tuple("sliding_attention" if window and i >= first else "full_attention" for i in range(cfg.n_layers()))
        return Style(qkv_bias=bias, o_bias=bias, qk_norm="head", window=window, kinds=kinds)
    normed = model_type in ("glm4_moe", "sarvam_moe") and cfg.flag("use_qk_norm")
    return Style(qkv_bias=bias, qk_norm="head" if normed else None)
