"""Hugging Face's text-generation-inference: its launcher and images.

Source: text-generation-inference 3.3 docs/source/reference/launcher.md.
"""

import re
from collections.abc import Sequence

from kvplan.checker.server import Server, Word
from kvplan.checker.table import Table
from kvplan.engines.tgi import command
from kvplan.engines.tgi.rules import rules_for

ENGINE = "tgi"
IMAGES = re.compile(r"(?:.*/)?[\w.-]*(?:text-generation-inference|text-generation-launcher|huggingface-pytorch-tgi)[\w.-]*")
OWN = re.compile(r"(?:.*/)?huggingface/text-generation-inference")
"""Images of released versions: others have patches and flags of their own."""
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


begins, version = command.begins, command.version


def check_version(version: str) -> None:
    """Raises RequestError for a version that is not modeled."""
    rules_for(version)


def line(server: Server, words: Sequence[Word]) -> tuple[str, ...]:
    """The words as those of the launcher, with the variables that say the same."""
    env = [f"{name}={value.text}" for name, value in server.env.items() if name in command.SPEECH.variables]
    return (*env, "text-generation-launcher", *(word.text for word in words))
