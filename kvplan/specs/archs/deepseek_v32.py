"""DeepSeek-V3.2, GLM-5 and A.X-K2: DeepSeek-V3 with a lightning indexer that picks the tokens to attend to.

In GLM-5.2 some layers reuse the pick of an earlier one; A.X-K2 gates its attention and its norms.
Source: transformers 5.24 models/deepseek_v32, glm_moe_dsa, axk2; DeepSeek-V3.2-Exp report §2.1.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import Mla
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.experts import dense_or_moe
from kvplan.specs.parts.forms import LATENT_CONTEXT, LATENT_CORE
from kvplan.specs.parts.indexing import indexed_layers, read_indexer
from kvplan.specs.parts.latent import (
    DEEPSEEK_MOE,
    DEEPSEEK_SIZES,
    latent_decoder,
    latent_form,
    latent_layers,
    mla_weights,
    paired,
    read_mla,
    routed,
)
from kvplan.specs.parts.mtp import n_next_token, next_token, own_ends
from kvplan.specs.parts.sparse import by_kind

MODEL_TYPES = ("deepseek_v32", "glm_moe_dsa", "axk2")

V32 = DEEPSEEK_SIZES | {
    "index_topk": 2048,
    "index_head_dim": 128,
    "index_n_heads": 64,
    "max_position_embeddings": 163840,
}
GLM5 = V32 | {"q_lora_rank": 2048, "qk_nope_head_dim": 192, "v_head_dim": 256, "index_n_heads": 32, "max_position_embeddings": 202752}
AXK2 = V32 | {
    "moe_intermediate_size": 512,
    "n_routed_experts": 128,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 128,
    "q_lora_rank": 384,
    "qk_rope_head_dim": 32,
    "qk_nope_head_dim": 64,
    "v_head_dim": 64,
    "index_n_heads": 16,
    "gated_norm_rank": 16,
    "max_position_embeddings": 131072,
}
ALIASES = {"num_local_experts": "n_routed_experts", "num_experts": "n_routed_experts"}


def _form(cfg: Config) -> ActivationForm:
    """The indexer's scores, float32 for each of its heads and each pair of tokens: the product, for which a batch of several copies the
    float32 keys for each query, and the scores before and after the rectifier. Beside them its queries, rotated and whole, and the layer's
    own queries, keys and expanded latents, with A.X-K2's gate, also rounded into rows. What it picks becomes a mask of each sequence.
    In GLM-5 the pick of the layer before is alive too: four bytes for each token picked, taken as two for each token, which is all of it
    at twice the tokens picked.
    """
    index = cfg.integer("index_head_dim")
    width = 2 * index + cfg.integer("qk_rope_head_dim")
    gate = " + 2O + U" if cfg.text("model_type", default="deepseek_v32") == "axk2" else ""
    shared = cfg.text("model_type", default="deepseek_v32") == "glm_moe_dsa"
    picked = " + 2bL" if shared else ""
    held = f"3H + U{gate}{picked} + 2Q + 2K + 2V + NV + {width}J + {width - index}"
    product, rectified = f"{held} + {index}fJ + fJL", f"{held} + 2fJL"
    return latent_form(cfg)._replace(
        attention=(f"{product} + {index}fL", rectified),
        attention_alone=(product, rectified),
        attention_context=f"{LATENT_CONTEXT} + {index} + {index}f",
        core=f"{LATENT_CORE} + U{gate} + {2 if shared else 1}fL + 2bL",
        masks_all=True,
        checked=True,
    )


def build(cfg: Config) -> ModelSpec:
    """Each layer that picks tokens keeps one indexer key per token beside the latent."""
    model_type = cfg.text("model_type", default="deepseek_v32")
    family = FAMILIES[model_type]
    cfg = cfg.renamed(ALIASES).with_defaults(family.defaults)
    if cfg.optional_integer("q_lora_rank") is None:
        raise cfg.error("q_lora_rank", "expected a rank: the indexer reads the compressed queries")
    n_layers, moe = cfg.n_layers(), routed(cfg)
    mla = read_mla(cfg, indexer=read_indexer(cfg))
    own = indexed_layers(cfg, n_layers) if family.shares else (True,) * n_layers
    step = cfg.integer("moe_layer_freq", default=1) if model_type == "axk2" else 1
    first = cfg.integer("first_k_dense_replace", least=0)
    kinds = ["sparse" if i >= first and i % step == 0 else "dense" for i in range(n_layers)]
    ffns = by_kind(cfg, DenseFfn(cfg.integer("intermediate_size")), moe, kinds)
    mixers = [mla if full else mla._replace(indexer=None) for full in own]
    layers = family.layers(cfg, mixers, ffns)
    own_copies = own_ends(cfg) if family.copies else ()
    mtp = next_token(cfg.integer("hidden_size"), family.layers(cfg, [mla], [moe])[0], n_next_token(cfg), own=own_copies)
    return latent_decoder(cfg, layers, _form(cfg), mtp)


def _plain(cfg: Config, mixers: Sequence[Mla], ffns: Sequence[Ffn]) -> list[Layer]:
    return latent_layers(cfg, mixers, ffns, DEEPSEEK_MOE)


def _gated(cfg: Config, mixers: Sequence[Mla], ffns: Sequence[Ffn]) -> list[Layer]:
    """A.X-K2's layers: queries and an output gate in one projection, norms with a low-rank gate (not before dense feed-forwards)."""
    hidden, bias, rank = cfg.integer("hidden_size"), cfg.flag("attention_bias", default=False), cfg.integer("gated_norm_rank")

    def gated_norm(name: str) -> Groups:
        return (
            *norm(f"{name}.norm", hidden),
            *linear(f"{name}.mlp.fc1", rank, hidden, role="other"),
            *linear(f"{name}.mlp.fc2", hidden, rank, role="other"),
        )

    def layer(mla: Mla, ffn: Ffn) -> Layer:
        q_rank, width = mla.q_lora_rank or 0, mla.n_heads * (mla.nope_head_dim + mla.rope_head_dim + mla.v_head_dim)
        weights = (
            *gated_norm("input_layernorm"),
            *(gated_norm("post_attention_layernorm") if ffn.kind == "moe" else norm("post_attention_layernorm", hidden)),
            *(group for group in mla_weights(hidden, mla, bias=bias) if group.name != "self_attn.q_b_proj.weight"),
            *linear("self_attn.q_gate_proj", width, 2 * q_rank, role="attention", shard="column"),
            *dense_or_moe(hidden, ffn, DEEPSEEK_MOE),
        )
        return Layer((mla,), (ffn,), weights)

    return paired(mixers, ffns, layer)


class Family(NamedTuple):
    """What its configuration class leaves to defaults, how its layers are built, whether some share a pick.

    ``copies``: checkpoints hold embeddings and output projection again with the next-token layer.
    """

    defaults: Mapping[str, object]
    layers: Callable[[Config, Sequence[Mla], Sequence[Ffn]], list[Layer]] = _plain
    shares: bool = False
    copies: bool = False


FAMILIES = {"deepseek_v32": Family(V32, copies=True), "glm_moe_dsa": Family(GLM5, shares=True), "axk2": Family(AXK2, layers=_gated)}
