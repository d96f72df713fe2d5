"""SGLang: ``python -m sglang.launch_server`` and its images. Source: sglang 0.5.23 srt/server_args.py."""

import re
from collections.abc import Sequence

from kvplan.checker.server import Server, Word
from kvplan.checker.table import Table
from kvplan.engines.sglang import command
from kvplan.engines.sglang.flags import KINDS, SAME
from kvplan.engines.sglang.known import known_flags
from kvplan.engines.sglang.rules import rules_for

ENGINE = "sglang"
IMAGES = re.compile(r"(?:.*/)?[\w.-]*sglang[\w.-]*")
OWN = re.compile(r"(?:.*/)?lmsysorg/sglang")
"""Images of released versions: others have patches and flags of their own."""
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
    switches=frozenset(flag.name for flag in known_flags().values() if flag.arity == "none"),
    bearing=frozenset((*KINDS, *SAME, "max-prefill-tokens")),
    telling=frozenset(("mem-fraction-static", "model-path", "chunked-prefill-size", "max-running-requests", "attention-backend")),
)
begins, version = command.begins, command.version


def check_version(version: str) -> None:
    """Raises RequestError for a version that is not modeled."""
    rules_for(version)


def line(server: Server, words: Sequence[Word]) -> tuple[str, ...]:
    """The words as those of ``sglang serve``."""
    env = [f"{name}={value.text}" for name, value in server.env.items() if name in command.SPEECH.variables]
    return (*env, "sglang", "serve", *(word.text for word in words))
