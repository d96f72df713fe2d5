"""What was settled for text-generation-inference, and how it is said."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.core.server_command import unlike, words


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


def spelled(settings: Settings) -> tuple[str, ...]:
    """The command that gives these settings on any hardware."""
    return ("text-generation-launcher", "--model-id", settings.model, *words(_flags(settings)))


def _flags(settings: Settings) -> Iterator[tuple[str, object]]:
    yield "num-shard", settings.num_shard
    yield "dtype", settings.dtype
    yield from unlike(
        ("quantize", settings.quantization, None),
        ("kv-cache-dtype", KV_FLAG.get(settings.kv_cache_dtype), None),
        ("cuda-memory-fraction", settings.cuda_memory_fraction, 1.0),
        ("max-input-tokens", settings.max_input_tokens, None),
        ("max-total-tokens", settings.max_total_tokens, None),
        ("max-batch-size", settings.max_batch_size, None),
        ("max-concurrent-requests", settings.max_concurrent_requests, 128),
        ("cuda-graphs", ",".join(map(str, settings.cuda_graphs)) or "0", "1,2,4,8,16,32"),
    )
    yield "max-batch-prefill-tokens", settings.max_batch_prefill_tokens


KV_FLAG = {"float8_e4m3fn": "fp8_e4m3fn", "float8_e5m2": "fp8_e5m2"}
"""The engine's words for types of the cache that are not the model's."""
