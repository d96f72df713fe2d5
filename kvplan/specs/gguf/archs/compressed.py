"""DeepSeek V4: a window of plain tokens beside compressed ones, in some layers picked by an indexer.

What the mathematics keeps is known and is said here; how llama.cpp lays out this cache (src/llama-kv-cache-dsv4.cpp) is the
engine's business, and nobody has measured it.
Source: llama.cpp b11434 src/models/deepseek4.cpp; DeepSeek-V4 report §2.3.
"""

from kvplan.core.mixers import CompressedAttention
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.mla import read_indexer
from kvplan.specs.gguf.plan import Mixing, Plan

GGUF_ARCHS = ("deepseek4",)

_SPARSE, _HEAVY = 4, 128


def plan(keys: Keys) -> Plan:
    """``compress_ratios`` says for each block how many tokens one entry stands for: 0 (the window alone), 4 (picked) or 128."""
    ratios = keys.array("attention.compress_ratios")
    if len(ratios) < keys.n_blocks:
        raise keys.error("attention.compress_ratios", f"expected a number for each of {keys.n_blocks} blocks")
    strange = next((ratio for ratio in ratios if ratio not in (0, _SPARSE, _HEAVY)), None)
    if strange is not None:
        raise keys.error("attention.compress_ratios", f"expected 0, {_SPARSE} or {_HEAVY}, found {strange}")
    return Plan(keys.layers(lambda i: _mixing(keys, i, int(ratios[i]))), _mixing(keys, keys.n_blocks - 1, 0))


def _mixing(keys: Keys, i: int, ratio: int) -> Mixing:
    mixer = CompressedAttention(
        n_heads=keys.per_layer("attention.head_count")[i],
        n_kv_heads=1,
        head_dim=keys.integer("attention.key_length"),
        window_tokens=keys.integer("attention.sliding_window"),
        ratio=ratio,
        indexer=read_indexer(keys) if ratio == _SPARSE else None,
    )
    return Mixing((mixer,))
