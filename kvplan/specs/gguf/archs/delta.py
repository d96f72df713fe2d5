"""Linear attention in most layers, ordinary attention in one of several: Qwen3-Next, Qwen3.5, Qwen4-Exp, MiniMax-Text-01.

Source: llama.cpp b11434 src/models/{qwen3next,qwen35,qwen35moe,qwen4exp,minimax-01}.cpp, src/llama-hparams.cpp.
"""

from kvplan.core.mixers import GatedDeltaNet, LinearAttention, Mixer, ShortConv
from kvplan.specs.gguf.attention import attending, full, next_attending
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.mla import read_indexer
from kvplan.specs.gguf.plan import Mixing, Plan

GGUF_ARCHS = ("qwen3next", "qwen35", "qwen35moe", "qwen4exp", "minimax-01")


def plan(keys: Keys) -> Plan:
    """``recurrent_layers`` says which layers are linear, else all but each ``full_attention_interval``-th."""
    linear = keys.flags("attention.recurrent_layers")
    if linear is None:
        every = keys.integer("full_attention_interval", default=8 if keys.arch == "minimax-01" else 4)
        linear = keys.layers(lambda i: (i + 1) % every != 0)
    make = _indexed if keys.arch == "qwen4exp" else attending
    return Plan(keys.layers(lambda i: Mixing(_linear(keys, i)) if linear[i] else make(keys, i)), next_attending(keys))


def _linear(keys: Keys, i: int) -> tuple[Mixer, ...]:
    if keys.arch == "minimax-01":
        heads = full(keys, i)
        if heads is None:
            raise keys.error("attention.head_count_kv", f"expected heads in block {i}, found none")
        return (LinearAttention(heads.n_heads, heads.head_dim, heads.head_dim),)
    width = keys.integer("ssm.state_size")
    if keys.divided("ssm.inner_size", "ssm.time_step_rank") != width:
        raise keys.error("ssm.inner_size", f"expected time_step_rank heads of state_size = {width}")
    n_k_heads, n_v_heads = keys.integer("ssm.group_count"), keys.integer("ssm.time_step_rank")
    return (GatedDeltaNet(n_k_heads, n_v_heads, width, width, keys.integer("ssm.conv_kernel")), *_past_ngrams(keys, i))


def _past_ngrams(keys: Keys, i: int) -> tuple[Mixer, ...]:
    """Qwen4-Exp's layers with n-gram embeddings convolve over all residual streams, one tap for each n-gram's length."""
    if keys.arch != "qwen4exp" or i not in keys.array("ple.layers"):
        return ()
    wide = keys.integer("hyper_connection.count") * keys.hidden
    return (ShortConv(wide, (keys.integer("ple.conv_kernel") - 1) * keys.integer("ple.ngram_size") + 1),)


def _indexed(keys: Keys, i: int) -> Mixing:
    mixer = full(keys, i)
    return Mixing((mixer._replace(indexer=read_indexer(keys)),) if mixer else ())
