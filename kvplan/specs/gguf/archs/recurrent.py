"""Selective state spaces and short convolutions, alone or in place of attention in the layers that have no KV heads.

Source: llama.cpp b11434 src/models/{mamba,mamba2,jamba,granite-hybrid,plamo2,falcon-h1,nemotron-h,lfm2}.cpp,
src/llama-hparams.cpp, n_embd_r and n_embd_s.
"""

from collections.abc import Callable

from kvplan.core.mixers import Mamba1, Mamba2, ShortConv, StateMixer
from kvplan.specs.gguf.attention import attending, full, next_attending, sliding
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Mixing, Plan

GGUF_ARCHS = (
    *("mamba", "mamba2", "jamba", "granitehybrid", "plamo2", "falcon-h1", "nemotron_h", "nemotron_h_moe"),
    *("lfm2", "lfm2moe"),
)


def plan(keys: Keys) -> Plan:
    """A state in every layer (Mamba), beside attention (Falcon-H1), or where ``head_count_kv`` is 0 (the rest)."""
    return Plan(keys.layers(_LAYERS.get(keys.arch, _either)(keys)), next_attending(keys))


def _alone(keys: Keys) -> Callable[[int], Mixing]:
    mixing = Mixing((_state(keys),))
    return lambda i: mixing


def _beside(keys: Keys) -> Callable[[int], Mixing]:
    state = _state(keys)

    def layer(i: int) -> Mixing:
        mixer = full(keys, i)
        return Mixing((mixer, state) if mixer else (state,))

    return layer


def _either(keys: Keys) -> Callable[[int], Mixing]:
    state = Mixing((_state(keys),))
    window = keys.integer("attention.sliding_window", default=0, least=0) if keys.arch == "lfm2" else 0

    def layer(i: int) -> Mixing:
        mixing = sliding(keys, i, window) if window else attending(keys, i)
        return mixing if mixing.mixers else state

    return layer


def _one_of_three(keys: Keys) -> Callable[[int], Mixing]:
    """Nemotron-H: a layer is a feed-forward (where it has a width), attention (KV heads), or a state."""
    either, widths = _either(keys), keys.per_layer("feed_forward_length")
    return lambda i: Mixing(()) if widths[i] else either(i)


_LAYERS = {
    "mamba": _alone,
    "mamba2": _alone,
    "falcon-h1": _beside,
    "nemotron_h": _one_of_three,
    "nemotron_h_moe": _one_of_three,
}


def _state(keys: Keys) -> StateMixer:
    if keys.arch in ("lfm2", "lfm2moe"):
        return ShortConv(keys.hidden, keys.integer("shortconv.l_cache"))
    inner, state, kernel = (keys.integer(f"ssm.{key}") for key in ("inner_size", "state_size", "conv_kernel"))
    if keys.arch in ("mamba", "jamba"):
        return Mamba1(inner, state, kernel, keys.integer("ssm.time_step_rank"))
    n_groups = keys.integer("ssm.group_count", least=0)  # PLaMo 2 convolves x alone: no groups
    return Mamba2(keys.integer("ssm.time_step_rank"), keys.divided("ssm.inner_size", "ssm.time_step_rank"), state, n_groups, kernel)
