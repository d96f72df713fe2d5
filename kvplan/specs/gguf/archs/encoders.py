"""Models that keep nothing from token to token: encoders for embeddings, and diffusion models that read all anew each step.

Source: llama.cpp b11434 src/llama-model.cpp, create_memory.
"""

from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Mixing, Plan

GGUF_ARCHS = (
    *("bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "eurobert"),
    *("gemma-embedding", "dream", "llada", "llada-moe", "rnd1", "t5encoder"),
)


def plan(keys: Keys) -> Plan:
    """Layers without a cache."""
    return Plan((Mixing(()),) * keys.n_layers, stack="enc.blk" if keys.arch == "t5encoder" else "blk")
