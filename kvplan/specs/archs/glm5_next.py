"""GLM-5-Next's text model: delta attention, every fourth layer latent attention over pools that an indexer picks.

Four residual streams are joined by hyper-connections; positions are not rotated.
Source: transformers 5.24 models/glm5_next.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import GatedDeltaNet, Mla
from kvplan.core.model import DenseFfn, Layer, ModelSpec, MoeFfn, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import dense_or_moe
from kvplan.specs.parts.forms import moe_moments
from kvplan.specs.parts.hybrid import read_kinds
from kvplan.specs.parts.hyper import hyper_connection
from kvplan.specs.parts.indexing import indexed_layers, read_indexer
from kvplan.specs.parts.kda import KdaStyle, kda_weights, square_net
from kvplan.specs.parts.latent import DEEPSEEK_MOE, block_norms, mla_weights, paired, read_mla, routed
from kvplan.specs.parts.mtp import n_next_token, next_token
from kvplan.specs.parts.sparse import by_kind

MODEL_TYPES = ("glm5_next_text",)

LINEAR, FULL = "linear_attention", ("full_attention", "indexed_attention")
KDA = KdaStyle(conv_dtype="float32", decay_dtype="float32")
DEFAULTS: Mapping[str, object] = {
    "vocab_size": 154880,
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 45,
    "num_attention_heads": 64,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 288,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 0,
    "qk_nope_head_dim": 256,
    "v_head_dim": 256,
    "index_topk": 2048,
    "index_head_dim": 128,
    "index_n_heads": 32,
    "index_kpool": 16,
    "linear_head_dim": 128,
    "linear_num_heads": 64,
    "linear_conv_kernel_dim": 4,
    "hc_mult": 4,
    "max_position_embeddings": 1048576,
}


def build(cfg: Config) -> ModelSpec:
    """Layers that share an earlier pick keep no indexer keys; the first three layers are dense where nothing says otherwise."""
    cfg = completed(cfg.renamed({"num_local_experts": "n_routed_experts"}), DEFAULTS)
    n_layers, linear_cfg, moe = cfg.n_layers(), cfg.sub("linear_attn_config"), routed(cfg)
    if cfg.optional_integer("q_lora_rank") is None:
        raise cfg.error("q_lora_rank", "expected a rank: the indexer reads the compressed queries")
    mla = read_mla(cfg, indexer=read_indexer(cfg)._replace(pool_tokens=cfg.integer("index_kpool")))
    net = square_net(
        linear_cfg.integer("num_heads", default=cfg.integer("linear_num_heads")),
        linear_cfg.integer("head_dim", default=cfg.integer("linear_head_dim")),
        linear_cfg.integer("short_conv_kernel_size", default=cfg.integer("linear_conv_kernel_dim")),
    )
    kinds = read_kinds(cfg, (LINEAR, *FULL), [LINEAR if i % 4 != 3 else FULL[1] for i in range(n_layers)])
    own = indexed_layers(cfg, n_layers)
    mixers = [net if kind == LINEAR else mla if full else mla._replace(indexer=None) for kind, full in zip(kinds, own, strict=True)]
    ffns = by_kind(cfg, DenseFfn(cfg.integer("intermediate_size")), moe, ["dense" if i < 3 else "sparse" for i in range(n_layers)])
    layers = paired(mixers, ffns, lambda mixer, ffn: _layer(cfg, mixer, ffn))
    mtp = next_token(cfg.integer("hidden_size"), _layer(cfg, mla, moe), n_next_token(cfg))
    return assemble(cfg, layers, Style(), ActivationForm(moe=moe_moments(float32=True)))._replace(mtp=mtp)


def _layer(cfg: Config, mixer: Mla | GatedDeltaNet, ffn: DenseFfn | MoeFfn) -> Layer:
    hidden, n_streams = cfg.integer("hidden_size"), cfg.integer("hc_mult")
    weights = (
        *block_norms(hidden),
        *(_latent(cfg, hidden, mixer) if mixer.kind == "mla" else kda_weights(hidden, mixer, KDA)),
        *dense_or_moe(hidden, ffn, DEEPSEEK_MOE),
        *hyper_connection("attn_hc", hidden, n_streams, mixes=True, fn_dtype=None),
        *hyper_connection("ffn_hc", hidden, n_streams, mixes=True, fn_dtype=None),
    )
    return Layer((mixer,), (ffn,), weights)


def _latent(cfg: Config, hidden: int, mla: Mla) -> Groups:
    """Latent attention; the indexer weighs the tokens of a pool by a gate and by their place in it."""
    weights = mla_weights(hidden, mla, bias=cfg.flag("attention_bias", default=False))
    if mla.indexer is None:
        return weights
    name, width = "self_attn.indexer.index_kpool_compress", mla.indexer.head_dim
    return (
        *weights,
        WeightGroup(f"{name}_ape", "indexer", mla.indexer.pool_tokens, width),
        WeightGroup(f"{name}_gate", "indexer", width, hidden),
    )
