"""vLLM: ``vllm serve``, the API server's module, its images. Source: vllm 0.33.0 entrypoints/cli/main.py, docker/Dockerfile."""

import re
from collections.abc import Sequence

from kvplan.checker.program import base
from kvplan.checker.server import Server, Word
from kvplan.checker.table import Table
from kvplan.engines.vllm.flags import KINDS, SHORT
from kvplan.engines.vllm.known import known_flags
from kvplan.engines.vllm.launch import image_version
from kvplan.engines.vllm.rules import rules_for

ENGINE = "vllm"
IMAGES = re.compile(r"(?:.*/)?(?:[\w.-]*vllm[\w.-]*|llm-d(?:-cuda|-xpu|-cpu|-rocm)?)")
OWN = re.compile(r"(?:.*/)?vllm/vllm-openai|(?:.*/)?lmcache/vllm-openai|(?:.*/)?(?:vllm-openai|rocm/vllm)")
"""Images of released versions: others have patches and flags of their own."""
_MODULE = re.compile(r"(?:\w+\.)*vllm\.(?:\w+\.)*entrypoints\.(?:\w+\.)*\w*server\w*")
_FILE = re.compile(r"(?:.*/)?(?:vllm/entrypoints/(?:openai/)?api_server\.py)")
_FIELDS = {
    "model": "model",
    "model-tag": "model",
    "max-model-len": "ctx_tokens",
    "max-num-seqs": "concurrency",
    "max-num-seq": "concurrency",
    "tensor-parallel-size": "tp",
    "tp": "tp",
    "pipeline-parallel-size": "pp",
    "pp": "pp",
    "data-parallel-size": "dp",
    "dp": "dp",
    "kv-cache-dtype": "kv_dtype",
    "gpu-memory-utilization": "utilization",
    "device-memory-utilization": "utilization",
}
TABLE = Table(
    flags=_FIELDS,
    switches=frozenset(flag.name for flag in known_flags().values() if flag.arity == "none")
    | frozenset(f"no-{flag.name}" for flag in known_flags().values() if flag.arity == "none"),
    positional=True,
    bearing=frozenset((*KINDS, *SHORT, "max-num-seq")) - {"kv-events-config", "kv-transfer-config"},
    telling=frozenset(
        (
            *(
                "max-model-len",
                "gpu-memory-utilization",
                "max-num-seqs",
                "max-num-batched-tokens",
                "enable-prefix-caching",
                "enforce-eager",
            ),
            *("enable-auto-tool-choice", "tensor-parallel-size", "served-model-name", "enable-chunked-prefill", "kv-transfer-config"),
        )
    ),
)


def begins(words: Sequence[str]) -> int:
    """``vllm serve``, ``python -m`` the API server's module, its file."""
    if base(words[0]) in ("vllm", "vllm.entrypoints.cli.main") and list(words[1:2]) == ["serve"]:
        return 2
    return int(words[0] == "dynamo.vllm" or bool(_MODULE.fullmatch(words[0]) or _FILE.fullmatch(words[0])))


def version(image: str) -> str | None:
    """The version that the image's tag names."""
    return image_version(image)


def check_version(version: str) -> None:
    """Raises RequestError for a version that is not modeled."""
    rules_for(version)


def line(server: Server, words: Sequence[Word]) -> tuple[str, ...]:
    """The words as those of ``vllm serve``, without files of settings, which are not read from here."""
    env = [f"{name}={value.text}" for name, value in server.env.items() if name.startswith("VLLM_")]
    kept: list[str] = []
    skips = False
    for word in words:
        if not skips and not (word.text == "--config" or word.text.startswith("--config=")):
            kept.append(word.text)
        skips = word.text == "--config"
    return (*env, "vllm", "serve", *kept)
