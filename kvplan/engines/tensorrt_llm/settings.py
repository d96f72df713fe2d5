"""What was settled for TensorRT-LLM."""

from typing import NamedTuple


class Settings(NamedTuple):
    """Every setting that bears on memory, resolved. ``max_seq_len`` is None where the model's limit holds, ``max_tokens`` where the
    fraction alone bounds the pool. ``graph_batches`` is the largest captured batch, 0 for none. ``attention_dp``: each rank keeps the
    whole of attention for its own sequences."""

    version: str
    model: str
    backend: str
    dtype: str
    kv_cache_dtype: str
    tp: int
    pp: int
    attention_dp: bool
    max_seq_len: int | None
    max_batch_size: int
    max_num_tokens: int
    max_beam_width: int
    free_gpu_memory_fraction: float
    max_tokens: int | None
    tokens_per_block: int
    graph_batches: int


KV_FLAG = {"float8_e4m3fn": "fp8", "float4_e2m1": "nvfp4"}
"""The engine's words for types of the cache that are not the model's."""
