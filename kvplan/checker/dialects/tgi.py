"""Hugging Face's text-generation-inference: its launcher and images.

Source: text-generation-inference 3.3 docs/source/reference/launcher.md.
"""

import re
from collections.abc import Sequence

from kvplan.checker.program import base
from kvplan.checker.table import Table

ENGINE = "tgi"
IMAGES = re.compile(r"(?:.*/)?[\w.-]*(?:text-generation-inference|text-generation-launcher|huggingface-pytorch-tgi)[\w.-]*")
_TAG = re.compile(r".*:v?(\d+\.\d+(?:\.\d+)?)(?![\d.]).*")
TABLE = Table(
    flags={
        "model-id": "model",
        "max-total-tokens": "ctx_tokens",
        "max-concurrent-requests": "concurrency",
        "num-shard": "tp",
        "kv-cache-dtype": "kv_dtype",
        "cuda-memory-fraction": "utilization",
    },
    env={
        "MODEL_ID": "model",
        "MAX_TOTAL_TOKENS": "ctx_tokens",
        "MAX_CONCURRENT_REQUESTS": "concurrency",
        "NUM_SHARD": "tp",
        "KV_CACHE_DTYPE": "kv_dtype",
        "CUDA_MEMORY_FRACTION": "utilization",
    },
    switches=frozenset(("disable-custom-kernels", "trust-remote-code", "json-output", "disable-grammar-support", "disable-usage-stats")),
    bearing=frozenset(("max-batch-total-tokens", "max-batch-prefill-tokens", "max-input-length", "max-input-tokens", "quantize")),
    telling=frozenset(("model-id", "max-total-tokens", "max-batch-prefill-tokens", "max-input-tokens", "max-input-length", "num-shard")),
)


def begins(words: Sequence[str]) -> int:
    """The launcher."""
    return int(base(words[0]) == "text-generation-launcher")


def version(image: str) -> str | None:
    """The version in the tag."""
    found = _TAG.fullmatch(image.partition("@")[0])
    return found[1] if found else None
