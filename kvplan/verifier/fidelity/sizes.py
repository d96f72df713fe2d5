"""Bytes of a cache with its scales, at a model's own widths."""

from typing import NamedTuple

from kvplan.core.dtypes import DTYPES
from kvplan.core.errors import RequestError
from kvplan.core.mixers import FullAttention, SlidingAttention
from kvplan.core.model import ModelSpec
from kvplan.core.units import ceil_div
from kvplan.verifier.fidelity.variant import Layout, Variant

PLAIN_BYTES = 2  # an element of a cache that nobody quantizes, float16 or bfloat16
SCALE_BYTES = 4  # a scale and the least value of a group, in float16 each, as KIVI keeps them (arXiv:2402.02750 §4)


class Head(NamedTuple):
    """Layers whose heads are alike: ``n`` heads of all layers together, their widths, the rotary part of a key, the window."""

    n: int
    k_dim: int
    v_dim: int
    rotary_dim: int
    window_tokens: int | None


def heads(model: ModelSpec) -> tuple[Head, ...]:
    """The model's heads of keys and values.

    Raises RequestError for a model whose cache holds something else: latents, states, or the keys of an encoder.
    """
    found = []
    for run in model.runs:
        if run.layer.kv_source is not None:
            continue
        for mixer in run.layer.mixers:
            if isinstance(mixer, FullAttention | SlidingAttention) and getattr(mixer, "indexer", None) is None:
                window = mixer.window_tokens if isinstance(mixer, SlidingAttention) else None
                rotary = min(model.form.rotary_dim or 0, mixer.head_dim)
                found.append(Head(mixer.n_kv_heads * run.n_layers, mixer.head_dim, mixer.v_head_dim, rotary, window))
            elif mixer.kind in ("full", "chunked", "mla", "compressed", "cross"):
                what = "picked keys" if mixer.kind == "full" else f"{mixer.kind} attention"
                raise RequestError(
                    "unsupported",
                    f"{model.id}: quality quantizes keys and values of full and sliding attention, not of {what}",
                    hint="engines store these in ways of their own: measure there",
                )
    if not found:
        raise RequestError("unsupported", f"{model.id} keeps no keys and values", hint="its cache is a state, which nobody quantizes")
    return tuple(found)


def plain_bytes(found: tuple[Head, ...], ctx_tokens: int) -> int:
    """Bytes of one sequence's cache of ``ctx_tokens`` in 16 bits."""
    return sum(head.n * _kept(head, ctx_tokens) * (head.k_dim + head.v_dim) * PLAIN_BYTES for head in found)


def quantized_bytes(found: tuple[Head, ...], variant: Variant, ctx_tokens: int) -> int:
    """The same stored as ``variant``: elements, scales, and what stays as it came."""
    return sum(
        head.n
        * (
            _side(variant.k, head.k_dim, _kept(head, ctx_tokens), rotary_dim=head.rotary_dim)
            + _side(variant.v, head.v_dim, _kept(head, ctx_tokens), rotary_dim=0)
        )
        for head in found
    )


def check(found: tuple[Head, ...], variant: Variant) -> None:
    """Raises RequestError where a head's width does not divide into the groups of ``variant``."""
    for layout, dims in ((variant.k, [head.k_dim for head in found]), (variant.v, [head.v_dim for head in found])):
        for dim in dims if layout.axis == "token" and variant.backend is None else ():
            if layout.group and dim % layout.group:
                message = f"--kv-dtype {variant.name}: groups of {layout.group} do not divide heads of {dim}"
                raise RequestError("bad_kv_dtype", message, hint=f"group=N with N a divisor of {dim}")


def _kept(head: Head, ctx_tokens: int) -> int:
    return ctx_tokens if head.window_tokens is None else min(ctx_tokens, head.window_tokens)


def _side(layout: Layout, dim: int, n_tokens: int, *, rotary_dim: int) -> int:
    """Bytes of ``n_tokens`` keys, or values, of one head."""
    stays = rotary_dim if layout.rope == "high" else 0
    quantized = max(0, n_tokens - layout.residual)
    if layout.axis == "channel" and layout.group:
        quantized -= quantized % layout.group
    as_it_came = PLAIN_BYTES * (quantized * stays + (n_tokens - quantized) * dim)
    return as_it_came + (_stored(layout, dim - stays, quantized) if dim > stays else 0)


def _stored(layout: Layout, dim: int, n_tokens: int) -> int:
    kind = DTYPES[layout.dtype]
    if not layout.dtype.startswith("int"):
        return n_tokens * kind.row_bytes(dim)
    if layout.axis == "channel":
        return n_tokens * kind.row_bytes(dim) + SCALE_BYTES * dim * (n_tokens // (layout.group or 1))
    return n_tokens * (kind.row_bytes(dim) + SCALE_BYTES * ceil_div(dim, layout.group or dim))
