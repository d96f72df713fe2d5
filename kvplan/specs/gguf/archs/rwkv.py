"""RWKV 6 and 7, and the models that put their time mixing in the place of Qwen's attention.

Source: llama.cpp b11434 src/models/{rwkv6,rwkv6qwen2,rwkv7,arwkv7}.cpp, src/llama-hparams.cpp (token_shift_count 2).
"""

from kvplan.core.mixers import Rwkv
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Mixing, Plan

GGUF_ARCHS = ("rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7")


def plan(keys: Keys) -> Plan:
    """A state per head of ``wkv.head_size``, and the last token's input of time mixing and, by default, of channel mixing."""
    n_heads, width = keys.divided("embedding_length", "wkv.head_size"), keys.integer("wkv.head_size")
    mixer = Rwkv(keys.hidden, n_heads, width, n_shifts=keys.integer("token_shift_count", default=2))
    return Plan((Mixing((mixer,)),) * keys.n_layers)
