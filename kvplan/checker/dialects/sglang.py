"""SGLang: ``python -m sglang.launch_server`` and its images. Source: sglang docs/advanced_features/server_arguments.md."""

import re
from collections.abc import Sequence

from kvplan.checker.program import base
from kvplan.checker.table import Table

ENGINE = "sglang"
IMAGES = re.compile(r"(?:.*/)?[\w.-]*sglang[\w.-]*")
_MODULES = ("sglang.launch_server", "sglang.srt.server", "dynamo.sglang")
_TAG = re.compile(r".*:v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?![\d.]).*")
TABLE = Table(
    flags={
        **dict.fromkeys(("model-path", "model"), "model"),
        "context-length": "ctx_tokens",
        "max-running-requests": "concurrency",
        **dict.fromkeys(("tp", "tp-size", "tensor-parallel-size"), "tp"),
        **dict.fromkeys(("pp-size", "pipeline-parallel-size", "pp"), "pp"),
        **dict.fromkeys(("dp", "dp-size", "data-parallel-size"), "dp"),
        "kv-cache-dtype": "kv_dtype",
        "mem-fraction-static": "utilization",
    },
    switches=frozenset(
        (
            *(
                "trust-remote-code",
                "disable-cuda-graph",
                "disable-radix-cache",
                "enable-dp-attention",
                "enable-torch-compile",
                "enable-metrics",
            ),
            *("disable-overlap-schedule", "skip-tokenizer-init", "log-requests", "enable-mixed-chunk", "enable-p2p-check", "is-embedding"),
        )
    ),
    bearing=frozenset(("chunked-prefill-size", "max-total-tokens", "page-size", "quantization", "max-prefill-tokens")),
    telling=frozenset(("mem-fraction-static", "model-path", "chunked-prefill-size", "max-running-requests", "attention-backend")),
)


def begins(words: Sequence[str]) -> int:
    """The server's module, or ``sglang serve``."""
    if words[0] in _MODULES:
        return 1
    return 2 if base(words[0]) == "sglang" and list(words[1:2]) == ["serve"] else 0


def version(image: str) -> str | None:
    """The version in the tag of an image of the project's own."""
    found = _TAG.fullmatch(image.partition("@")[0])
    return found[1] if found and "sglang" in image.rpartition(":")[0] and "nvcr.io" not in image else None
