"""Latent attention as GGUF keys describe it, and the indexer that picks tokens for it.

Source: llama.cpp b11434 src/models/deepseek2.cpp, deepseek32.cpp, glm-dsa.cpp; src/llama-kv-cache-dsa.cpp.
"""

from kvplan.core.indexer import Indexer
from kvplan.core.mixers import Mla
from kvplan.specs.gguf.attention import heads
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Mixing


def latent(keys: Keys, i: int, *, indexer: Indexer | None = None) -> Mixing:
    """One latent and one rotary key per token in block ``i``. Raises RequestError where the sizes don't fit together."""
    return Mixing((_mla(keys, i, "")._replace(indexer=indexer),))


def narrow_latent(keys: Keys, i: int) -> Mixing:
    """The same over a window of ``sliding_window`` tokens, in sizes of its own (dots3)."""
    return Mixing((_mla(keys, i, "_swa")._replace(window_tokens=keys.integer("attention.sliding_window")),))


def _mla(keys: Keys, i: int, suffix: str) -> Mla:
    """``key_length`` is the row of the cache, kv_lora_rank + rotary width; a head's own widths once expanded have ``_mla``."""
    rank, row = keys.integer(f"attention.kv_lora_rank{suffix}"), keys.integer(f"attention.key_length{suffix}")
    rotary = keys.integer(f"rope.dimension_count{suffix}", default=row - rank, least=0)
    if row != rank + rotary:
        raise keys.error(f"attention.key_length{suffix}", f"expected kv_lora_rank {rank} + rope.dimension_count {rotary}, found {row}")
    n_heads, n_kv_heads = heads(keys, i)
    if n_kv_heads != 1:
        raise keys.error("attention.head_count_kv", f"expected 1, the latent that all heads share, found {n_kv_heads} in block {i}")
    return Mla(
        n_heads=n_heads,
        kv_lora_rank=rank,
        rope_head_dim=rotary,
        nope_head_dim=keys.integer(f"attention.key_length_mla{suffix}", least=rotary) - rotary,
        v_head_dim=keys.integer(f"attention.value_length_mla{suffix}"),
        q_lora_rank=keys.integer("attention.q_lora_rank", default=0, least=0) or None,
    )


def read_indexer(keys: Keys) -> Indexer:
    """The indexer's size; ``kpool`` tokens share one of its keys (GLM-5-Next)."""
    n_heads, width, n_picked = (keys.integer(f"attention.indexer.{key}") for key in ("head_count", "key_length", "top_k"))
    return Indexer(n_heads, width, n_picked, keys.integer("attention.indexer.kpool", default=1))


def picking(keys: Keys, default: tuple[bool, ...]) -> tuple[bool, ...]:
    """Which layers have an indexer of their own: ``indexer.types``, a truth value for each or one for all, else ``default``."""
    key = "attention.indexer.types"
    given = keys.flags(key)
    if given is not None:
        return given
    return (bool(keys.integer(key, least=0)),) * keys.n_layers if keys.has(key) else default
