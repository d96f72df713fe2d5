"""Decoders whose last layers read the keys and values of earlier ones: Gemma 3n and Gemma 4.

Source: llama.cpp b11434 src/models/gemma3n.cpp, gemma4.cpp; transformers 5.24 models/gemma3n, models/gemma4
(num_kv_shared_layers: a layer shares with the last one of its kind that has keys and values of its own).
"""

from kvplan.specs.gguf.attention import attending, sliding, windowed
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Mixing, Plan

GGUF_ARCHS = ("gemma3n", "gemma4")

_GEMMA3N_OWN = 20  # both sizes of Gemma 3n have 20 layers with keys and values of their own; old files don't say so


def plan(keys: Keys) -> Plan:
    """Layers with windows and without, the last ``shared_kv_layers`` of which keep nothing."""
    if keys.arch == "gemma4" and keys.flags("attention.sliding_window_pattern") is None:
        raise keys.error("attention.sliding_window_pattern", "missing: expected a truth value for each layer")
    window, narrow = keys.integer("attention.sliding_window"), windowed(keys, 5)
    default = max(0, keys.n_layers - _GEMMA3N_OWN) if keys.arch == "gemma3n" else 0
    n_own = keys.n_layers - keys.integer("attention.shared_kv_layers", default=default, least=0, most=keys.n_layers - 1)

    def layer(i: int) -> Mixing:
        own = sliding(keys, i, window) if narrow[i] else attending(keys, i)
        return own if i < n_own else own._replace(kv_source=_source(keys, narrow, i, n_own))

    return Plan(keys.layers(layer))


def _source(keys: Keys, narrow: tuple[bool, ...], i: int, n_own: int) -> int:
    source = next((j for j in reversed(range(n_own)) if narrow[j] == narrow[i]), None)
    if source is None:
        raise keys.error("attention.shared_kv_layers", f"layer {i} has no earlier layer of its kind to share with")
    return source
