"""DeepSeek-V3, R1, Moonlight and Kimi-K2, and the families built like it: latent attention and a mixture routed by sigmoid.

GLM-4-MoE-Lite, Sarvam-MLA and A.X-K1 (a norm after the mixture) differ in their defaults, Mistral-4 routes by softmax.
Source: transformers 5.24 models/deepseek_v3, sarvam_mla, glm4_moe_lite, mistral4, axk1; DeepSeek-V3, arXiv:2412.19437.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.core.model import DenseFfn, Ffn, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.latent import DEEPSEEK_MOE, DEEPSEEK_SIZES, latent_decoder, latent_form, latent_layers, read_mla, routed
from kvplan.specs.parts.mtp import n_next_token, next_token, own_ends
from kvplan.specs.parts.sparse import by_kind, first_dense

MODEL_TYPES = ("deepseek_v3", "kimi_k2", "sarvam_mla", "glm4_moe_lite", "mistral4", "axk1")

V3 = DEEPSEEK_SIZES | {
    "max_position_embeddings": 4096,
    "num_nextn_predict_layers": 1,
}
SARVAM = V3 | {"n_routed_experts": 128, "q_lora_rank": None, "first_k_dense_replace": 1, "num_nextn_predict_layers": 0}
GLM4_LITE = V3 | {
    "moe_intermediate_size": 1536,
    "n_routed_experts": 64,
    "num_experts_per_tok": 4,
    "q_lora_rank": 768,
    "qk_nope_head_dim": 192,
    "v_head_dim": 256,
    "max_position_embeddings": 202752,
    "num_nextn_predict_layers": 0,
}
MISTRAL4 = V3 | {
    "n_routed_experts": 128,
    "num_experts_per_tok": 4,
    "first_k_dense_replace": 0,
    "kv_lora_rank": 256,
    "q_lora_rank": 1024,
    "qk_nope_head_dim": 64,
    "max_position_embeddings": 1048576,
    "num_nextn_predict_layers": 0,
}
AXK1 = V3 | {"n_routed_experts": 192, "first_k_dense_replace": 1, "max_position_embeddings": 32768, "num_nextn_predict_layers": 0}

ALIASES = {"num_local_experts": "n_routed_experts", "num_mtp_layers": "num_nextn_predict_layers"}
SARVAM_ALIASES = ALIASES | {"num_experts": "n_routed_experts", "num_shared_experts": "n_shared_experts"}


class Family(NamedTuple):
    """What its configuration class leaves to defaults, its mixture, and whether ``mlp_layer_types`` says which layers have one."""

    defaults: Mapping[str, object]
    moe: MoeStyle = DEEPSEEK_MOE
    listed: bool = False
    aliases: Mapping[str, str] = ALIASES
    post_mlp_norm: bool = False


FAMILIES = {
    "deepseek_v3": Family(V3),
    "kimi_k2": Family(V3),
    "sarvam_mla": Family(SARVAM, aliases=SARVAM_ALIASES),
    "glm4_moe_lite": Family(GLM4_LITE, listed=True),
    "mistral4": Family(MISTRAL4, moe=MoeStyle()),
    "axk1": Family(AXK1, listed=True, post_mlp_norm=True),
}


def build(cfg: Config) -> ModelSpec:
    """Layers from ``first_k_dense_replace`` on have the mixture; the next-token layer is one of them with a joint of its own."""
    model_type = cfg.text("model_type", default="deepseek_v3")
    family = FAMILIES[model_type]
    cfg = cfg.renamed(family.aliases).with_defaults(family.defaults)
    hidden, mla, moe = cfg.integer("hidden_size"), read_mla(cfg), routed(cfg)
    dense = DenseFfn(cfg.integer("intermediate_size"))
    ffns = _listed(cfg, dense, moe, model_type) if family.listed else _first(cfg, dense, moe)
    extra = norm("mlp.post_mlp_layernorm", hidden) if family.post_mlp_norm else ()
    layers = latent_layers(cfg, (mla,) * len(ffns), ffns, family.moe, extra)
    (last,) = latent_layers(cfg, (mla,), (moe,), family.moe, extra)
    merged = model_type == "mistral4"  # in its files as in its modules
    form = latent_form(cfg, float32_routing=not merged)._replace(merges_experts=not merged, checked=model_type != "kimi_k2")
    return latent_decoder(cfg, layers, form, next_token(hidden, last, n_next_token(cfg), own=own_ends(cfg)))


def _first(cfg: Config, dense: DenseFfn, moe: MoeFfn) -> tuple[Ffn, ...]:
    return first_dense(cfg.n_layers(), cfg.integer("first_k_dense_replace", least=0), dense, moe)


def _listed(cfg: Config, dense: DenseFfn, moe: MoeFfn, model_type: str) -> tuple[Ffn, ...]:
    """GLM-4-MoE-Lite's class has one dense layer whatever ``first_k_dense_replace`` says, A.X-K1's reads it and a step."""
    reads = model_type == "axk1"
    n_dense = cfg.integer("first_k_dense_replace", least=0) if reads else 1
    step = cfg.integer("moe_layer_freq", default=1) if reads else 1
    return by_kind(cfg, dense, moe, ["sparse" if i >= n_dense and i % step == 0 else "dense" for i in range(cfg.n_layers())])
