"""Layers that run several times over, with a cache for each run (Nanbeige).

Source: llama.cpp b11434 src/models/nanbeige.cpp.
"""

from kvplan.specs.config import MAX_LAYERS
from kvplan.specs.gguf.attention import attending
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Mixing, Plan

GGUF_ARCHS = ("nanbeige",)


def plan(keys: Keys) -> Plan:
    """``num_loops`` times the mixers of one run in each layer, whose weights all runs share."""
    n_runs = keys.integer("num_loops", default=1, most=MAX_LAYERS // keys.n_layers)
    return Plan(keys.layers(lambda i: Mixing(attending(keys, i).mixers * n_runs)))
