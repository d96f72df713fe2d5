"""Mistral Large 4's text model: latent attention without a query rank, indexers, layers without rotation or without a cache.

Source: transformers 5.24 models/mistral_large4.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.core.mixers import Mla
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, norm, vector
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import MoeStyle, dense_or_moe
from kvplan.specs.parts.indexing import indexed_layers, read_indexer
from kvplan.specs.parts.latent import block_norms, latent_form, mla_weights, read_mla, routed
from kvplan.specs.parts.sparse import by_kind

MODEL_TYPES = ("mistral_large4_text",)

MOE = MoeStyle(router_dtype="float32")
DEFAULTS: Mapping[str, object] = {
    "vocab_size": 204800,
    "hidden_size": 6144,
    "intermediate_size": 24576,
    "num_hidden_layers": 72,
    "num_attention_heads": 64,
    "moe_intermediate_size": 6144,
    "n_routed_experts": 128,
    "n_shared_experts": 1,
    "num_experts_per_tok": 4,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 64,
    "v_head_dim": 128,
    "index_topk": 2048,
    "index_head_dim": 128,
    "index_n_heads": 32,
    "no_rope_layer_interval": 4,
    "max_position_embeddings": 1048576,
}
ALIASES = {"num_local_experts": "n_routed_experts", "num_experts": "n_routed_experts"}


class Plan(NamedTuple):
    """One layer: its attention, its feed-forward, and the earlier layer whose latents it reads, if it keeps none."""

    mla: Mla
    ffn: Ffn
    kv_source: int | None


def build(cfg: Config) -> ModelSpec:
    """A layer without rotation keeps the latent alone; its queries and keys are as wide as the others'."""
    cfg = completed(cfg.renamed(ALIASES), DEFAULTS)
    cfg = Config({**cfg.data, "q_lora_rank": None}, where=cfg.where, path=cfg.path)
    layers = _layers(cfg)
    rotary = cfg.integer("qk_rope_head_dim")
    spec = assemble(cfg, layers, Style(), latent_form(cfg))
    frequencies = vector("rotary_emb.alpha", rotary // 2, role="other", dtype="float32")
    return spec._replace(weights=(*spec.weights, *frequencies))


def _layers(cfg: Config) -> list[Layer]:
    n_layers, mla, first = cfg.n_layers(), read_mla(cfg, indexer=read_indexer(cfg)), cfg.integer("first_k_dense_replace", least=0)
    default = ["dense" if i < first else "sparse" for i in range(n_layers)]
    ffns = by_kind(cfg, DenseFfn(cfg.integer("intermediate_size")), routed(cfg), default)
    mixers = [
        _mixer(mla, rotates=rotates, picks=picks) for rotates, picks in zip(_rotating(cfg), indexed_layers(cfg, n_layers), strict=True)
    ]
    plans = [Plan(*parts) for parts in zip(mixers, ffns, _sources(cfg), strict=True)]
    made = {plan: _layer(cfg, plan) for plan in dict.fromkeys(plans)}
    return [made[plan] for plan in plans]


def _mixer(mla: Mla, *, rotates: bool, picks: bool) -> Mla:
    turned = mla if rotates else mla._replace(rope_head_dim=0, nope_head_dim=mla.nope_head_dim + mla.rope_head_dim)
    return turned if picks else turned._replace(indexer=None)


def _rotating(cfg: Config) -> tuple[bool, ...]:
    """Whether each layer rotates: ``no_rope_layers`` (1 where it does), else all but every ``no_rope_layer_interval``-th."""
    n_layers, interval = cfg.n_layers(), cfg.integer("no_rope_layer_interval")
    default = [int((i + 1) % interval != 0) for i in range(n_layers)]
    return tuple(map(bool, cfg.per_layer("no_rope_layers", n_layers, cfg.integers("no_rope_layers", default=default))))


def _sources(cfg: Config) -> tuple[int | None, ...]:
    """``kv_source_layers``: the layer whose latents each reads, its own where nothing says otherwise."""
    n_layers = cfg.n_layers()
    sources = cfg.per_layer("kv_source_layers", n_layers, cfg.integers("kv_source_layers", default=range(n_layers)))
    for i, source in enumerate(sources):
        if source > i or sources[source] != source:
            raise cfg.error("kv_source_layers", f"layer {i} must read from an earlier layer that keeps its own, found {source}")
    return tuple(None if source == i else source for i, source in enumerate(sources))


def _layer(cfg: Config, plan: Plan) -> Layer:
    hidden, mla = cfg.integer("hidden_size"), plan.mla
    attention = mla_weights(hidden, mla, bias=cfg.flag("attention_bias", default=False))
    borrowed = "self_attn.kv_a_"
    weights = (
        *block_norms(hidden),
        *(group for group in attention if plan.kv_source is None or not group.name.startswith(borrowed)),
        *_scaling("self_attn", mla.n_heads),
        *(_index_scaling(hidden, mla.indexer.n_heads) if mla.indexer else ()),
        *dense_or_moe(hidden, plan.ffn, MOE),
    )
    return Layer((mla,), (plan.ffn,), weights, plan.kv_source)


def _scaling(name: str, n_heads: int) -> Groups:
    """A learned temperature per head that depends on the position."""
    parts = (vector(f"{name}.softmax_scaling.{part}", n_heads, role="attention") for part in ("scale", "bias"))
    return tuple(group for groups in parts for group in groups)


def _index_scaling(hidden: int, n_heads: int) -> Groups:
    """The indexer's own norm before its queries, and its temperatures."""
    return (*norm("self_attn.indexer.q_input_norm", hidden, bias=True), *_scaling("self_attn.indexer", n_heads))
