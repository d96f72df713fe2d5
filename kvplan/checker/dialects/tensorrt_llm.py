"""TensorRT-LLM: ``trtllm-serve`` and its images. Source: TensorRT-LLM 1.0 docs/source/commands/trtllm-serve."""

import re
from collections.abc import Sequence

from kvplan.checker.server import Server, Word
from kvplan.checker.table import Table, flag_name
from kvplan.engines.tensorrt_llm import command
from kvplan.engines.tensorrt_llm.flags import SAME, grammar
from kvplan.engines.tensorrt_llm.rules import rules_for

ENGINE = "tensorrt-llm"
IMAGES = re.compile(r"(?:.*/)?tensorrt-?llm(?:/release|/devel)?|(?:.*/)?[\w.-]*(?:trtllm|tensorrtllm|tensorrt-llm)[\w.-]*")
OWN = re.compile(r"(?:.*/)?nvidia/tensorrt-llm(?:/release|/devel)?")
"""Images of released versions: others have patches and flags of their own."""
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


begins, version = command.begins, command.version


def check_version(version: str) -> None:
    """Raises RequestError for a version that is not modeled."""
    rules_for(version)


def line(server: Server, words: Sequence[Word]) -> tuple[str, ...]:
    """The words as those of ``trtllm-serve``, without files of options, which are not read from here; of such a file, what is known."""
    kept: list[str] = []
    skips = False
    for word in words:
        name = flag_name(word.text)
        if name:
            of_file = server.kind == _FILE and SAME.get(name, name) not in grammar().known
            skips = (of_file or name in _FILES) and "=" not in word.text
            if not (of_file or name in _FILES):
                kept.append(word.text)
        elif not skips:
            kept.append(word.text)
        else:
            skips = False
    return ("trtllm-serve", *kept)


_FILE = "trtllm-options"
_FILES = ("config", "extra-llm-api-options", "extra-engine-args")
