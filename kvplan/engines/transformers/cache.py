"""Bytes of a DynamicCache: what the mathematics must keep, and what the allocator really holds.

Source: transformers 5.24 cache_utils.py (DynamicLayer, DynamicSlidingWindowLayer, LinearAttentionLayer).
"""

from kvplan.core.dtypes import DTYPES
from kvplan.core.mixers import Mixer
from kvplan.core.model import Layer, ModelSpec
from kvplan.core.workload import Workload


def ideal_elems(mixer: Mixer, ctx_tokens: int) -> int:
    """Cache elements one layer must keep for one sequence at ``ctx_tokens``, recurrent states not included."""
    match mixer.kind:
        case "sliding" | "chunked":
            return mixer.kept_tokens(ctx_tokens) * mixer.elems_per_token
        case "full" | "mla":
            return mixer.kept_tokens(ctx_tokens) * mixer.elems_per_token + mixer.indexer_elems(ctx_tokens)
        case "compressed":
            kept = mixer.kept_tokens(ctx_tokens) * mixer.elems_per_token
            return kept + mixer.indexer_elems(ctx_tokens) + mixer.pending_elems(ctx_tokens)
        case "cross":
            return mixer.elems_per_sequence
        case "mamba1" | "mamba2" | "gated_delta" | "linear" | "short_conv" | "rwkv" | "rg_lru":
            return 0


def state_elems(mixer: Mixer) -> int:
    """Elements of the state one layer keeps per sequence, whatever its length."""
    match mixer.kind:
        case "mamba1" | "mamba2" | "gated_delta" | "linear" | "short_conv" | "rwkv" | "rg_lru":
            return mixer.state_elems + mixer.conv_elems
        case "full" | "sliding" | "chunked" | "compressed" | "mla" | "cross":
            return 0


def prompt_elems(mixer: Mixer, prompt_tokens: int) -> int:
    """Elements held for one sequence right after prefill: a window is still a view into the whole prompt's storage."""
    if mixer.kind == "sliding" or mixer.kind == "chunked" or (mixer.kind == "mla" and mixer.window_tokens):
        return prompt_tokens * mixer.elems_per_token
    return ideal_elems(mixer, prompt_tokens)


def cached_layers(model: ModelSpec) -> list[tuple[int, Layer]]:
    """Runs of layers that keep a cache of their own, as (number of layers, layer)."""
    return [(run.n_layers, run.layer) for run in model.runs if run.layer.kv_source is None]


def kv_bytes(model: ModelSpec, load: Workload, kv_dtype: str) -> tuple[int, int]:
    """(ideal, reserved) cache bytes of this workload, recurrent states apart.

    Reserved is the fuller of two moments: after prefill, and after the last decode step.
    """
    elem = DTYPES[kv_dtype].block_bytes
    pairs = [(n, mixer) for n, layer in cached_layers(model) for mixer in layer.mixers]
    ideal = sum(n * ideal_elems(mixer, load.ctx_tokens) for n, mixer in pairs)
    prompt = sum(n * prompt_elems(mixer, load.prompt_tokens) for n, mixer in pairs)
    return elem * load.batch * ideal, elem * load.batch * max(ideal, prompt)


def state_bytes(model: ModelSpec, kv_dtype: str) -> int:
    """Recurrent state of one sequence."""
    elem = DTYPES[kv_dtype].block_bytes
    return elem * sum(n * state_elems(mixer) for n, layer in cached_layers(model) for mixer in layer.mixers)
