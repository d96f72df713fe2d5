"""Kimi's delta attention where a layer has no KV heads, latent attention elsewhere: Kimi-Linear, Kimi-K3, Ling 3, GLM-5-Next.

Source: llama.cpp b11434 src/models/{kimi-linear,kimi-k3,bailingmoe3,glm5-next}.cpp, src/llama-hparams.cpp.
"""

from kvplan.core.mixers import GatedDeltaNet
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.mla import latent, picking, read_indexer
from kvplan.specs.gguf.plan import Mixing, Plan

GGUF_ARCHS = ("kimi-linear", "kimi-k3", "bailingmoe3", "glm5-next")


def plan(keys: Keys) -> Plan:
    """GLM-5-Next's latent layers have an indexer, all or those of ``indexer.types``."""
    n_kv_heads = keys.per_layer("attention.head_count_kv")
    indexer = read_indexer(keys) if keys.arch == "glm5-next" else None
    picks = picking(keys, (True,) * keys.n_layers)

    def layer(i: int) -> Mixing:
        return latent(keys, i, indexer=indexer if picks[i] else None) if n_kv_heads[i] else _delta(keys, i)

    return Plan(keys.layers(layer), latent(keys, keys.n_blocks - 1) if keys.n_next_token else Mixing(()))


def _delta(keys: Keys, i: int) -> Mixing:
    n_heads, width = keys.per_layer("attention.head_count")[i], keys.integer("kda.head_dim")
    return Mixing((GatedDeltaNet(n_heads, n_heads, width, width, keys.integer("ssm.conv_kernel")),))
