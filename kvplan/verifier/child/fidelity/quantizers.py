"""Tensors as a quantized cache gives them back: rounded to what is stored, scales in float16 included."""

import math
from collections.abc import Callable

import torch

from kvplan.verifier.fidelity.variant import Layout

Rounded = Callable[["torch.Tensor"], "torch.Tensor"]

_BITS = {"int8": 8, "int4": 4, "int2": 2}
LEAST_HADAMARD = 64


def quantizer(layout: Layout, *, widest: int = 2**20) -> Rounded:
    """What gives (heads, tokens, width) back as ``layout`` stores it; a Hadamard matrix has at most ``widest`` rows."""
    rounded = _plain(layout)
    return _spread(rounded, widest) if layout.rotated else rounded


def _plain(layout: Layout) -> Rounded:
    if layout.dtype in _BITS:
        bits = _BITS[layout.dtype]
        if layout.axis == "channel":
            return lambda x: _integers(x.transpose(-1, -2), bits, x.shape[-2]).transpose(-1, -2)
        return lambda x: _integers(x, bits, layout.group or x.shape[-1])
    blocks = {"q8_0": _q8_0, "q4_0": _q4_0}
    return blocks[layout.dtype] if layout.dtype in blocks else _cast(getattr(torch, layout.dtype))


def _cast(dtype: "torch.dtype") -> Rounded:
    """Rounded to a floating type, with a scale of 1; what is too large becomes its largest, as engines store FP8."""
    most = torch.finfo(dtype).max
    return lambda x: x.clamp(-most, most).to(dtype).to(x.dtype)


def _integers(x: "torch.Tensor", bits: int, group: int) -> "torch.Tensor":
    """Asymmetric: of each ``group`` along the last axis the least value and the step, in float16.

    Source: KIVI, arXiv:2402.02750 §3.1 (equation 1).
    """
    parts = x.float().unflatten(-1, (-1, group))
    least = _half(parts.amin(-1, keepdim=True))
    step = _half((parts.amax(-1, keepdim=True) - least) / (2**bits - 1))
    codes = ((parts - least) / step.where(step > 0, torch.ones_like(step))).round().clamp(0, 2**bits - 1)
    return (codes * step + least).flatten(-2).to(x.dtype)


def _q8_0(x: "torch.Tensor") -> "torch.Tensor":
    """Source: ggml 0.26 ggml-quants.c, quantize_row_q8_0_ref: the largest of 32 becomes 127, halves go away from zero."""
    parts = x.float().unflatten(-1, (-1, 32))
    step = parts.abs().amax(-1, keepdim=True) / 127
    codes = parts / step.where(step > 0, torch.ones_like(step))
    return ((codes.abs() + 0.5).floor() * codes.sign() * _half(step)).flatten(-2).to(x.dtype)


def _q4_0(x: "torch.Tensor") -> "torch.Tensor":
    """Source: ggml 0.26 ggml-quants.c, quantize_row_q4_0_ref: the largest of 32 in size becomes -8."""
    parts = x.float().unflatten(-1, (-1, 32))
    most = parts.gather(-1, parts.abs().argmax(-1, keepdim=True))
    step = most / -8
    codes = (parts / step.where(step != 0, torch.ones_like(step)) + 8.5).floor().clamp(0, 15)
    return ((codes - 8) * _half(step)).flatten(-2).to(x.dtype)


def _half(x: "torch.Tensor") -> "torch.Tensor":
    return x.half().float()


def _spread(rounded: Rounded, widest: int) -> Rounded:
    """The same between a Hadamard matrix and its inverse, which is its transpose and here itself.

    Source: llama.cpp b11434 src/llama-kv-cache.cpp: for keys the largest power of two that divides a head, from 64 on (with less,
    none); for values 64.
    """

    def spread(x: "torch.Tensor") -> "torch.Tensor":
        side = math.gcd(x.shape[-1], widest)
        if side < LEAST_HADAMARD:
            return rounded(x)
        matrix = hadamard(side).to(device=x.device)
        turned = (x.float().unflatten(-1, (-1, side)) @ matrix).flatten(-2)
        return (rounded(turned).unflatten(-1, (-1, side)) @ matrix).flatten(-2).to(x.dtype)

    return spread


def hadamard(side: int) -> "torch.Tensor":
    """The orthogonal symmetric one of a power of two (Sylvester)."""
    matrix = torch.ones(1, 1)
    while matrix.shape[0] < side:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)], 0)
    return matrix / math.sqrt(side)
