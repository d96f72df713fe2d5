"""What was settled for text-generation-inference."""

from typing import NamedTuple


class Settings(NamedTuple):
    """Every setting that bears on memory, resolved. ``max_input_tokens`` and ``max_total_tokens`` are None where the engine takes what its
    pool holds; ``cuda_graphs`` are captured batches."""

    version: str
    model: str
    dtype: str
    quantization: str | None
    kv_cache_dtype: str
    num_shard: int
    cuda_memory_fraction: float
    max_input_tokens: int | None
    max_total_tokens: int | None
    max_batch_prefill_tokens: int
    max_batch_size: int | None
    max_concurrent_requests: int
    cuda_graphs: tuple[int, ...]


KV_FLAG = {"float8_e4m3fn": "fp8_e4m3fn", "float8_e5m2": "fp8_e5m2"}
"""The engine's words for types of the cache that are not the model's."""
