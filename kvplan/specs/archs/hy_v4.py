"""Hunyuan 4: gated latent attention with sinks and a shared pick of tokens, a mixture, and four residual streams.

Source: transformers 5.24 models/hy_v4, models/hy_v4_vl (its text model).
"""

from collections.abc import Mapping

from kvplan.core.mixers import Mla
from kvplan.core.model import DenseFfn, Layer, ModelSpec, MoeFfn, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, vector
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import dense_or_moe
from kvplan.specs.parts.hyper import hyper_connection, hyper_head
from kvplan.specs.parts.indexing import indexed_layers, read_indexer
from kvplan.specs.parts.latent import DEEPSEEK_MOE, block_norms, latent_form, mla_weights, paired, read_mla, routed
from kvplan.specs.parts.mtp import n_next_token, next_token
from kvplan.specs.parts.sparse import by_kind

MODEL_TYPES = ("hy_v4", "hy_v4_vl_text")

V4: Mapping[str, object] = {
    "moe_intermediate_size": 768,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 192,
    "qk_rope_head_dim": 64,
    "v_head_dim": 256,
    "index_topk": 2048,
    "index_head_dim": 128,
    "index_n_heads": 16,
    "hc_mult": 4,
    "max_position_embeddings": 262144,
}
V4_VL: Mapping[str, object] = {
    **V4,
    "vocab_size": 120832,
    "hidden_size": 6144,
    "intermediate_size": 18432,
    "num_hidden_layers": 78,
    "num_attention_heads": 64,
    "moe_intermediate_size": 2048,
    "q_lora_rank": 2048,
    "index_n_heads": 32,
}


def build(cfg: Config) -> ModelSpec:
    """The first layer and every fourth after the second pick tokens; the output projection stays in float32."""
    defaults = V4_VL if cfg.text("model_type", default="hy_v4") == "hy_v4_vl_text" else V4
    cfg = completed(cfg.renamed({"num_local_experts": "n_routed_experts"}), defaults)
    if cfg.optional_integer("q_lora_rank") is None:
        raise cfg.error("q_lora_rank", "expected a rank: the indexer reads the compressed queries")
    n_layers, moe, mla = cfg.n_layers(), routed(cfg), read_mla(cfg, indexer=read_indexer(cfg))
    own = indexed_layers(cfg, n_layers) if cfg.has("indexer_types") else tuple(i == 0 or i % 4 == 1 for i in range(n_layers))
    ffns = by_kind(cfg, DenseFfn(cfg.integer("intermediate_size")), moe, ["sparse" if i else "dense" for i in range(n_layers)])
    mixers = [mla if full else mla._replace(indexer=None) for full in own]
    layers = paired(mixers, ffns, lambda mixer, ffn: _layer(cfg, mixer, ffn))
    hidden, n_streams = cfg.integer("hidden_size"), cfg.integer("hc_mult")
    spec = assemble(cfg, layers, Style(), latent_form(cfg))
    weights = (*map(_float32_head, spec.weights), *hyper_head("hc_head", hidden, n_streams))
    return spec._replace(weights=weights, mtp=next_token(hidden, _layer(cfg, mla, moe), n_next_token(cfg)))


def _layer(cfg: Config, mla: Mla, ffn: DenseFfn | MoeFfn) -> Layer:
    hidden, n_streams = cfg.integer("hidden_size"), cfg.integer("hc_mult")
    weights = (
        *block_norms(hidden),
        *map(_float32_scores, mla_weights(hidden, mla, bias=cfg.flag("attention_bias", default=False))),
        *linear("self_attn.gate_proj", mla.n_heads * mla.v_head_dim, hidden, role="attention", shard="column"),
        *vector("self_attn.sinks", mla.n_heads, role="attention", dtype="float32"),
        *dense_or_moe(hidden, ffn, DEEPSEEK_MOE),
        *hyper_connection("attn_hc", hidden, n_streams, mixes=False),
        *hyper_connection("ffn_hc", hidden, n_streams, mixes=False),
    )
    return Layer((mla,), (ffn,), weights)


def _float32_scores(group: WeightGroup) -> WeightGroup:
    """The indexer's head weights and key norm are kept in float32."""
    kept = group.role == "indexer" and ("weights_proj" in group.name or "k_norm" in group.name)
    return group._replace(dtype="float32") if kept else group


def _float32_head(group: WeightGroup) -> WeightGroup:
    return group._replace(dtype="float32") if group.role == "lm_head" else group
