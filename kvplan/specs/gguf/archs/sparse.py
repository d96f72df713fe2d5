"""MiniMax-M3: ordinary attention, but in the leading dense layers over blocks of tokens that a small indexer picks.

Source: llama.cpp b11434 src/models/minimax-m3.cpp, src/llama-kv-cache-msa.cpp.
"""

from kvplan.core.indexer import Indexer
from kvplan.specs.gguf.attention import full
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Mixing, Plan

GGUF_ARCHS = ("minimax-m3",)


def plan(keys: Keys) -> Plan:
    """``leading_dense_block_count`` layers without an indexer, then layers with one; it picks ``top_k`` blocks of ``block_size``."""
    picked = keys.integer("attention.indexer.top_k") * keys.integer("attention.indexer.block_size")
    indexer = Indexer(keys.integer("attention.indexer.head_count"), keys.integer("attention.indexer.key_length"), picked)
    n_dense = keys.integer("leading_dense_block_count", default=0, least=0)

    def layer(i: int) -> Mixing:
        mixer = full(keys, i)
        return Mixing((mixer if i < n_dense else mixer._replace(indexer=indexer),) if mixer else ())

    return Plan(keys.layers(layer))
