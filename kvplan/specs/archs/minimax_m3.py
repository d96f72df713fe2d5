"""MiniMax-M3's text model: ordinary attention, in most layers over blocks that a small indexer picks; dense layers first.

Source: transformers 5.24 models/minimax_m3_vl (MiniMaxM3VLTextConfig, MiniMaxM3VLForCausalLM).
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.indexer import Indexer
from kvplan.core.mixers import FullAttention
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.blocks import Groups, as_role, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed, mixing_weights
from kvplan.specs.parts.experts import MoeStyle, dense_or_moe
from kvplan.specs.parts.forms import NORMED_ROTATION, moe_moments
from kvplan.specs.parts.sparse import by_kind, experts_per_token

MODEL_TYPES = ("minimax_m3_vl_text", "minimax_m3")

_DEFAULTS: Mapping[str, object] = {
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
    "dense_intermediate_size": 12288,
    "shared_intermediate_size": 3072,
    "rotary_dim": 64,
    "index_n_heads": 4,
    "index_head_dim": 128,
    "index_block_size": 128,
    "index_topk_blocks": 16,
    "max_position_embeddings": 524288,
}
_INDEX_NAMES = {
    "sparse_num_index_heads": "index_n_heads",
    "sparse_index_dim": "index_head_dim",
    "sparse_block_size": "index_block_size",
    "sparse_topk_blocks": "index_topk_blocks",
}
_SPARSE = "minimax_m3_sparse"


def build(cfg: Config) -> ModelSpec:
    """``sparse_attention_config`` of the published files stands for the ``index_`` keys and for ``layer_types``."""
    sparse = cfg.sub("sparse_attention_config")
    own = {name: sparse.integer(key) for key, name in _INDEX_NAMES.items() if sparse.has(key)}
    cfg = completed(cfg.renamed({"num_experts": "num_local_experts"}), _DEFAULTS)
    cfg = Config({**cfg.data, **own}, where=cfg.where, path=cfg.path)
    hidden, kinds = cfg.integer("hidden_size"), _kinds(cfg, sparse)
    plain = FullAttention(*read_heads(cfg, hidden))
    mixing = mixing_weights(hidden, read_heads(cfg, hidden), Style(qk_norm="head"))
    n_heads, dim = cfg.integer("index_n_heads"), cfg.integer("index_head_dim")
    picking = plain._replace(indexer=Indexer(n_heads, dim, cfg.integer("index_topk_blocks") * cfg.integer("index_block_size")))
    moe = MoeStyle(correction="buffer")
    made = {
        (kind, ffn): Layer(
            (picking if kind == _SPARSE else plain,),
            (ffn,),
            (*mixing, *(_indexer(hidden, n_heads, dim) if kind == _SPARSE else ()), *dense_or_moe(hidden, ffn, moe)),
        )
        for kind, ffn in dict.fromkeys(zip(kinds, _ffns(cfg), strict=True))
    }
    form = ActivationForm(rotary_dim=cfg.integer("rotary_dim"), attention=NORMED_ROTATION, moe=moe_moments(hidden="5H", float32=True))
    return assemble(cfg, [made[pair] for pair in zip(kinds, _ffns(cfg), strict=True)], Style(), form)


def _kinds(cfg: Config, sparse: Config) -> tuple[str, ...]:
    n_layers = cfg.n_layers()
    if cfg.has("layer_types") or not sparse.has("sparse_attention_freq"):
        kinds = cfg.per_layer("layer_types", n_layers, cfg.texts("layer_types", default=("full_attention",) * n_layers))
    else:
        numbers = sparse.per_layer("sparse_attention_freq", n_layers, sparse.integers("sparse_attention_freq"))
        kinds = tuple(_SPARSE if number else "full_attention" for number in numbers)
    strange = next((kind for kind in kinds if kind not in (_SPARSE, "full_attention")), None)
    if strange:
        raise cfg.error("layer_types", f"unknown kind of layer '{strange}'", hint=f"known: full_attention, {_SPARSE}")
    return tuple(kinds)


def _ffns(cfg: Config) -> tuple[Ffn, ...]:
    n_layers, n_experts = cfg.n_layers(), cfg.integer("num_local_experts")
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    moe = MoeFfn(n_experts, n_active, cfg.integer("intermediate_size"), cfg.integer("shared_intermediate_size"))
    numbers = cfg.per_layer("moe_layer_freq", n_layers, cfg.integers("moe_layer_freq", default=(1,) * n_layers))
    default = tuple("sparse" if number else "dense" for number in numbers)
    return by_kind(cfg, DenseFfn(cfg.integer("dense_intermediate_size")), moe, default)


def _indexer(hidden: int, n_heads: int, dim: int) -> Groups:
    """Index queries of ``n_heads`` heads, one shared index key, both normalized."""
    name = "self_attn.indexer"
    return (
        *linear(f"{name}.q_proj", n_heads * dim, hidden, role="indexer"),
        *linear(f"{name}.k_proj", dim, hidden, role="indexer"),
        *as_role((*norm(f"{name}.q_norm", dim), *norm(f"{name}.k_norm", dim)), "indexer"),
    )
