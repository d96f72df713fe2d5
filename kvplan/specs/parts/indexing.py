"""Sparse attention's indexer as configs describe it: its size, its weights, and which layers have one of their own."""

from kvplan.core.indexer import Indexer
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, as_role, linear, norm

KINDS = ("full", "shared")


def read_indexer(cfg: Config) -> Indexer:
    """The lightning indexer: ``index_n_heads``, ``index_head_dim``, ``index_topk``."""
    return Indexer(cfg.integer("index_n_heads"), cfg.integer("index_head_dim"), cfg.integer("index_topk"))


def indexer_weights(hidden: int, q_rank: int, indexer: Indexer, *, name: str = "self_attn.indexer") -> Groups:
    """Queries from ``q_rank``, one shared key with a LayerNorm, and a weight per head.

    Source: transformers 5.24 models/deepseek_v32/modeling_deepseek_v32.py, DeepseekV32Indexer.
    """
    return (
        *linear(f"{name}.wq_b", indexer.n_heads * indexer.head_dim, q_rank, role="indexer"),
        *linear(f"{name}.wk", indexer.head_dim, hidden, role="indexer"),
        *as_role(norm(f"{name}.k_norm", indexer.head_dim, bias=True), "indexer"),
        *linear(f"{name}.weights_proj", indexer.n_heads, hidden, role="indexer"),
    )


def indexed_layers(cfg: Config, n_layers: int) -> tuple[bool, ...]:
    """Which layers pick tokens themselves; the others use the last pick before them and keep no indexer keys.

    ``indexer_types`` says it per layer, ``index_topk_pattern`` as a word of F and S, ``index_topk_freq`` and
    ``index_skip_topk_offset`` as a rhythm; without any, every layer has an indexer.
    Source: transformers 5.24 models/glm_moe_dsa/configuration_glm_moe_dsa.py.
    """
    if cfg.has("indexer_types"):
        return _named(cfg, "indexer_types", n_layers)
    if cfg.has("index_topk_pattern"):
        return _pattern(cfg, n_layers)
    step, offset = cfg.integer("index_topk_freq", default=1, least=0) or 1, cfg.integer("index_skip_topk_offset", default=2, least=0)
    return tuple(max(i - offset + 1, 0) % step == 0 for i in range(n_layers))


def _pattern(cfg: Config, n_layers: int) -> tuple[bool, ...]:
    key = "index_topk_pattern"
    if not isinstance(cfg.data[key], str):
        return _named(cfg, key, n_layers)
    letters = cfg.text(key)
    if set(letters) - {"F", "S"}:
        raise cfg.error(key, f"expected F (full) and S (shared) for each layer, found '{letters}'")
    return tuple(letter == "F" for letter in cfg.per_layer(key, n_layers, letters))


def _named(cfg: Config, key: str, n_layers: int) -> tuple[bool, ...]:
    kinds = cfg.per_layer(key, n_layers, cfg.texts(key))
    strange = next((kind for kind in kinds if kind not in KINDS), None)
    if strange is not None:
        raise cfg.error(key, f"unknown kind of indexer '{strange}'", hint=f"known: {', '.join(KINDS)}")
    return tuple(kind == "full" for kind in kinds)
