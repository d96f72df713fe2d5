"""TensorRT-LLM: ``trtllm-serve`` and its images. Source: TensorRT-LLM 1.0 docs/source/commands/trtllm-serve."""

import re
from collections.abc import Sequence

from kvplan.checker.program import base
from kvplan.checker.table import Table

ENGINE = "tensorrt-llm"
IMAGES = re.compile(r"(?:.*/)?tensorrt-?llm(?:/release|/devel)?|(?:.*/)?[\w.-]*(?:trtllm|tensorrtllm|tensorrt-llm)[\w.-]*")
_TAG = re.compile(r".*:v?(\d+\.\d+\.\d+(?:rc\d+)?)(?![\d.]).*")
TABLE = Table(
    flags={
        **dict.fromkeys(("model", "model-path"), "model"),
        "max-seq-len": "ctx_tokens",
        "max-batch-size": "concurrency",
        **dict.fromkeys(("tp-size", "tensor-parallel-size"), "tp"),
        **dict.fromkeys(("pp-size", "pipeline-parallel-size"), "pp"),
        "kv-cache-dtype": "kv_dtype",
        "kv-cache-free-gpu-memory-fraction": "utilization",
        "free-gpu-memory-fraction": "utilization",
    },
    switches=frozenset(("trust-remote-code", "disable-kv-cache-reuse")),
    positional=True,
    bearing=frozenset(("max-num-tokens", "max-beam-width", "ep-size")),
    telling=frozenset(("max-seq-len", "max-num-tokens", "kv-cache-free-gpu-memory-fraction", "extra-llm-api-options", "ep-size")),
)


def begins(words: Sequence[str]) -> int:
    """``trtllm-serve`` with or without its verb, and Dynamo's worker."""
    if words[0] == "dynamo.trtllm":
        return 1
    return 0 if base(words[0]) != "trtllm-serve" else 2 if list(words[1:2]) == ["serve"] else 1


def version(image: str) -> str | None:
    """The version in the tag of NVIDIA's own image."""
    found = _TAG.fullmatch(image.partition("@")[0])
    return found[1] if found and "tensorrt-llm" in image and "dynamo" not in image else None
