"""What was settled for TensorRT-LLM, and how it is said."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.core.server_command import unlike, words


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


def spelled(settings: Settings) -> tuple[str, ...]:
    """The command that gives these settings; what only its file of options can say stands as flags of those names."""
    return ("trtllm-serve", settings.model, *words(_flags(settings), dash="_"))


def _flags(settings: Settings) -> Iterator[tuple[str, object]]:
    yield "tp-size", settings.tp
    yield "free-gpu-memory-fraction", settings.free_gpu_memory_fraction
    yield "max-batch-size", settings.max_batch_size
    yield "max-num-tokens", settings.max_num_tokens
    yield from unlike(
        ("backend", settings.backend, "pytorch"),
        ("dtype", settings.dtype, None),
        ("kv-cache-dtype", KV_FLAG.get(settings.kv_cache_dtype), None),
        ("pp-size", settings.pp, 1),
        ("max-seq-len", settings.max_seq_len, None),
        ("max-beam-width", settings.max_beam_width, 1),
        ("max-tokens", settings.max_tokens, None),
        ("tokens-per-block", settings.tokens_per_block, 32),
        ("cuda-graph-max-batch-size", settings.graph_batches, min(128, settings.max_batch_size)),
    )
    yield "enable-attention-dp", settings.attention_dp


KV_FLAG = {"float8_e4m3fn": "fp8", "float4_e2m1": "nvfp4"}
"""The engine's words for types of the cache that are not the model's."""
