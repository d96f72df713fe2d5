"""Bytes that one token takes in one head's slot of a cache page, by the type of the cache."""

from typing import NamedTuple

from kvplan.core.units import ceil_div, ceil_to

PER_TENSOR = ("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc")
"""One byte an element, scales per tensor."""

_PER_TOKEN = {"int8_per_token_head": 8, "fp8_per_token_head": 8, "int4_per_token_head": 4}  # bits of an element
_SCALES = 8  # two float32 scales beside K and V of a token
_FP4_GROUP = 16  # elements that share a scale of one byte


class TurboQuant(NamedTuple):
    """Bits of a key's and of a value's element; a key of 8 bits is plain fp8 and has no norm beside it.

    Source: vllm 0.33 model_executor/layers/quantization/turboquant/config.py, TQ_PRESETS.
    """

    key_bits: int
    value_bits: int


TURBOQUANT = {
    "turboquant_k8v4": TurboQuant(8, 4),
    "turboquant_4bit_nc": TurboQuant(4, 4),
    "turboquant_k3v4_nc": TurboQuant(3, 4),
    "turboquant_3bit_nc": TurboQuant(3, 3),
}
_NORM = 2
_VALUE_SCALE = 4

PLAIN = {"float32": 4, "float16": 2, "bfloat16": 2, "half": 2, "bf16": 2, "fp16": 2}


def is_quantized(kv_dtype: str) -> bool:
    """Whether the cache is kept in fewer bits than the model computes in."""
    return kv_dtype != "auto" and kv_dtype not in PLAIN


def head_bytes(kv_dtype: str, k_dim: int, v_dim: int, elem_bytes: int) -> int:
    """Bytes of K and V of one token in one head; ``elem_bytes`` is the model's own element.

    Source: vllm 0.33 v1/kv_cache_interface.py, AttentionSpec.state_content_size_bytes, and customize_spec of
    v1/attention/backends/{triton_attn,flashinfer,turboquant_attn}.py.
    """
    if kv_dtype in PER_TENSOR:
        return k_dim + v_dim
    if kv_dtype in _PER_TOKEN:
        return (k_dim + v_dim) * _PER_TOKEN[kv_dtype] // 8 + _SCALES
    if kv_dtype.startswith("nvfp4"):
        return sum(dim // 2 + dim // _FP4_GROUP for dim in (k_dim, v_dim))
    if kv_dtype in TURBOQUANT:
        bits = TURBOQUANT[kv_dtype]
        key = k_dim if bits.key_bits == 8 else ceil_div(k_dim * bits.key_bits, 8) + _NORM
        return ceil_to(key + ceil_div(v_dim * bits.value_bits, 8) + _VALUE_SCALE, 2)
    return (k_dim + v_dim) * elem_bytes
