"""What differs between versions of TensorRT-LLM; a new version is a new ``Rules``."""

from functools import cache
from typing import NamedTuple

from kvplan.core.versions import rules_at


class Rules(NamedTuple):
    """How a version behaves from ``since`` on. ``max_batch_size`` and ``max_num_tokens`` are defaults."""

    since: str
    source: str
    max_batch_size: int = 2048
    max_num_tokens: int = 8192
    tokens_per_block: int = 32


RULES = (
    Rules(
        "0.17.0", "TensorRT-LLM main of 2025-09 and 2026 tensorrt_llm/_torch/pyexecutor/_util.py, resource_manager.py, commands/serve.py"
    ),
)
VERSIONS = ("0.17.0", "0.18.0", "0.18.1", "0.18.2", "0.19.0", "0.20.0", "0.21.0", "1.0.0", "1.1.0", "1.2.0", "1.2.1")


@cache
def rules_for(version: str) -> tuple[Rules, bool]:
    """The rules of ``version``, and whether it is newer than every modeled one (then the newest rules are used).

    Raises RequestError for a version older than the table, or for text that is no version.
    """
    return rules_at(version.removeprefix("v"), RULES, engine="tensorrt-llm", known=VERSIONS)
