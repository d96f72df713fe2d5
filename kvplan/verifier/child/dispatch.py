"""Which kernel ``scaled_dot_product_attention`` takes on an NVIDIA GPU, by PyTorch's own rules.

Source: PyTorch 2.13 aten/src/ATen/native/transformers/cuda/sdp_utils.cpp (check_prefer_cudnn_attention, priority_order,
can_use_cudnn_attention, can_use_flash_attention, can_use_mem_efficient_attention, check_cudnn_tensor_shapes,
minimum_gemm_alignment), sdp_utils_cpp.h. A wheel for CUDA 13 is assumed, which brings a cuDNN newer than 9.15.
"""

from typing import Literal, NamedTuple

import torch

Kernel = Literal["cudnn", "flash", "efficient", "math"]
Capability = tuple[int, int]

ASSUMED: Capability = (8, 0)
"""Where no GPU is named: the first with every kernel that an estimate without one counts."""

_HALF = (torch.float16, torch.bfloat16)
_AMPERE, _NEWEST = (8, 0), (12, 1)
_CUDNN_FIRST = (9, 10)  # major versions
_FLASH_WIDEST = 256
_CUDNN_WIDEST = {9: 256}  # by major version; 128 on others, but for DeepSeek's heads
_CUDNN_LATENT = (192, 128)


class Call(NamedTuple):
    """What a call passes; no tensor is kept."""

    query: "torch.Tensor"
    key: "torch.Tensor"
    value: "torch.Tensor"
    masked: bool
    dropout: float
    is_causal: bool
    enable_gqa: bool

    @property
    def widths(self) -> tuple[int, int, int]:
        """Of the heads of queries, keys and values."""
        return int(self.query.shape[-1]), int(self.key.shape[-1]), int(self.value.shape[-1])

    @property
    def heads_match(self) -> bool:
        """Whether each query head has keys of its own, or the caller lets them be shared."""
        return self.enable_gqa or self.has_own_keys

    @property
    def has_own_keys(self) -> bool:
        """Whether there are as many KV heads as query heads."""
        return int(self.query.shape[1]) == int(self.key.shape[1]) == int(self.value.shape[1])

    @property
    def in_rows(self) -> bool:
        """Whether the elements of each head lie side by side."""
        return all(tensor.stride(-1) == 1 for tensor in (self.query, self.key, self.value))


def choose(call: Call, capability: Capability) -> Kernel:
    """The first kernel in PyTorch's order that takes the call; math takes any."""
    if call.query.dim() != 4:
        return "math"
    if capability[0] in _CUDNN_FIRST and _takes_cudnn(call, capability):
        return "cudnn"
    if _takes_flash(call, capability):
        return "flash"
    return "efficient" if _takes_efficient(call, capability) else "math"


def _takes_cudnn(call: Call, capability: Capability) -> bool:
    """Half precision, a mask or none, heads in multiples of 8 up to 256 (Hopper) or 128, more than one key."""
    query, key, value = call.widths
    widest = 192 if capability[0] == 10 and (query, value) == _CUDNN_LATENT else _CUDNN_WIDEST.get(capability[0], 128)
    fits = query == key and max(query, value) <= widest and query % 8 == value % 8 == 0
    return fits and _is_half(call, capability) and call.heads_match and call.in_rows and call.key.shape[2] != 1 and call.dropout == 0


def _takes_flash(call: Call, capability: Capability) -> bool:
    """Half precision, no mask, heads of one width up to 256; a causal call only over as many keys as queries."""
    square = not call.is_causal or call.query.shape[2] == call.key.shape[2]
    fits = len(set(call.widths)) == 1 and call.widths[0] <= _FLASH_WIDEST
    here = _AMPERE <= capability <= _NEWEST
    return here and fits and square and not call.masked and _is_half(call, capability) and call.heads_match and call.in_rows


def _takes_efficient(call: Call, capability: Capability) -> bool:
    """As many KV heads as query heads, rows that the matrix units can read: of 16 bytes from Ampere on, and in half precision on
    Volta and Turing."""
    query, key, value = call.widths
    half = call.query.dtype in _HALF
    tensor_cores = capability >= _AMPERE or (capability[0] == 7 and half)
    elements = 16 // call.query.element_size() if tensor_cores else 1
    aligned = query == key and query % elements == value % elements == 0
    known = call.query.dtype in (torch.float32, torch.float16) or (call.query.dtype == torch.bfloat16 and capability >= _AMPERE)
    return (5, 0) <= capability <= _NEWEST and aligned and known and call.has_own_keys and call.in_rows


def _is_half(call: Call, capability: Capability) -> bool:
    """Two bytes, in a type that the GPU multiplies."""
    return call.query.dtype == torch.float16 or (call.query.dtype == torch.bfloat16 and capability >= _AMPERE)
