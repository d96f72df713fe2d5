"""Llama 4: three of four layers see their own chunk of tokens, the fourth everything.

Source: llama.cpp b11434 src/models/llama4.cpp; transformers 5.24 models/llama4 (attention_chunk_size 8192).
"""

from kvplan.core.mixers import ChunkedAttention
from kvplan.specs.gguf.attention import attending, full, windowed
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Mixing, Plan

GGUF_ARCHS = ("llama4",)

_CHUNK_TOKENS = 8192  # no key gives it; a sliding_window of 0 says that there are none


def plan(keys: Keys) -> Plan:
    """Chunks, but where the file says that its window is 0."""
    chunked = windowed(keys, 4)
    if keys.has("attention.sliding_window") and not keys.integer("attention.sliding_window", least=0):
        chunked = (False,) * keys.n_layers
    return Plan(keys.layers(lambda i: _chunk(keys, i) if chunked[i] else attending(keys, i)))


def _chunk(keys: Keys, i: int) -> Mixing:
    mixer = full(keys, i, narrow=True)
    return Mixing((ChunkedAttention(*mixer[:4], _CHUNK_TOKENS),) if mixer else ())
