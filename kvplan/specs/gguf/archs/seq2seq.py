"""T5: a decoder beside an encoder, whose output it attends to.

Source: llama.cpp b11434 src/models/t5.cpp; Raffel et al. 2019, arXiv:1910.10683 §2.1.
"""

from kvplan.core.mixers import CrossAttention
from kvplan.specs.config import MAX_LAYERS
from kvplan.specs.gguf.attention import full
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Mixing, Plan
from kvplan.specs.parts.seq2seq import longest_input

GGUF_ARCHS = ("t5",)


def plan(keys: Keys) -> Plan:
    """``decoder_block_count`` layers, else as many as the encoder has; its output is counted at ``context_length``."""
    n_tokens, n_layers = keys.integer("context_length"), keys.integer("decoder_block_count", default=keys.n_layers, most=MAX_LAYERS)
    own = full(keys, 0)
    if own is None:
        raise keys.error("attention.head_count_kv", "expected heads, found none")
    source = CrossAttention(own.n_heads, own.n_kv_heads, own.head_dim, n_tokens)
    return Plan((Mixing((own, source)),) * n_layers, stack="dec.blk", caveats=(longest_input(n_tokens),))
