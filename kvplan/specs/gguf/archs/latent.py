"""Multi-head latent attention in every layer, alone or with a sparse indexer: DeepSeek V2 to V3.2, GLM-5, Hy4, dots3.

Files of DeepSeek V2 and V3 from before key_length_mla keep expanded keys and values for each head, and are read so.
Source: llama.cpp b11434 src/models/deepseek2.cpp, deepseek32.cpp, glm-dsa.cpp, hy-v4.cpp, dots3note.cpp.
"""

from kvplan.specs.gguf.attention import attending_plan
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.mla import latent, narrow_latent, picking, read_indexer
from kvplan.specs.gguf.plan import Mixing, Plan

GGUF_ARCHS = ("deepseek2", "mistral4", "deepseek32", "glm-dsa", "hy_v4", "dots3note")

_LONG_CTX = 1048576  # GLM-5.2 and later share picks between layers, and are known by this context
_MLA_KEYS = ("attention.key_length_mla", "attention.value_length_mla")


def plan(keys: Keys) -> Plan:
    """Latent layers; those with an indexer as the architecture or ``indexer.types`` says."""
    if keys.arch in ("deepseek2", "mistral4") and not any(keys.has(key) for key in _MLA_KEYS):
        return attending_plan(keys)
    picks = _picks(keys)
    indexer = read_indexer(keys) if any(picks) else None
    narrow = keys.flags("attention.sliding_window_pattern") if keys.arch == "dots3note" else (False,) * keys.n_layers
    if narrow is None:
        raise keys.error("attention.sliding_window_pattern", "missing: expected a truth value for each layer")

    def layer(i: int) -> Mixing:
        return narrow_latent(keys, i) if narrow[i] else latent(keys, i, indexer=indexer if picks[i] else None)

    return Plan(keys.layers(layer), latent(keys, keys.n_blocks - 1) if keys.n_next_token else Mixing(()))


def _picks(keys: Keys) -> tuple[bool, ...]:
    """Which layers pick tokens themselves; the others use the last pick before them."""
    if keys.arch == "deepseek32":
        return (True,) * keys.n_layers
    if keys.arch == "glm-dsa":
        shares = keys.integer("context_length") >= _LONG_CTX
        return picking(keys, keys.layers(lambda i: not shares or i < 2 or (i - 2) % 4 == 0))
    if keys.arch == "dots3note" or keys.integer("attention.indexer.top_k", default=0, least=0):
        return _listed(keys)
    return (False,) * keys.n_layers


def _listed(keys: Keys) -> tuple[bool, ...]:
    picks = picking(keys, ())
    if not picks:
        raise keys.error("attention.indexer.types", "missing: expected a truth value for each layer")
    return picks
