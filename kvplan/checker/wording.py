"""What every rule's findings are made with."""

from typing import NamedTuple

from kvplan.checker.case import Case, Found, Level, Tried
from kvplan.core.ledger import Fix
from kvplan.core.units import GIB


def found(rule: str, level: Level, case: Case, flags: tuple[str, ...], message: str, hint: str = "", fixes: tuple[Fix, ...] = ()) -> Found:  # noqa: PLR0913
    """A finding that points at the first of ``flags`` that the server's command has, else at its first word."""
    at = case.at(*flags)
    return Found(rule, level, case.server.file, at.line, at.column, case.server, message, hint, fixes)


def gib(n_bytes: int) -> str:
    """A size for people."""
    return f"{n_bytes / GIB:,.2f} GiB"


def on(tried: Tried) -> str:
    """On which accelerators it was tried: ``on 2 × l4``."""
    if tried.gpu is None:
        return ""
    return f"on {tried.n_gpus or 1} × {tried.gpu.gpu}"


def assumed(case: Case) -> str:
    """That nobody named the version whose rules these are."""
    return f"({case.reading.version} is assumed: nothing names a version)"


class Spelled(NamedTuple):
    """An engine's flags for a sequence's length, sequences at once, its share of the GPU, and the GPUs that share each layer."""

    context: tuple[str, ...]
    sequences: str
    share: str
    split: str


_VLLM = Spelled(("--max-model-len",), "--max-num-seqs", "--gpu-memory-utilization", "--tensor-parallel-size")
SPELLED = {
    "vllm": _VLLM,
    "sglang": Spelled(("--context-length",), "--max-running-requests", "--mem-fraction-static", "--tp-size"),
    "tgi": Spelled(("--max-total-tokens",), "--max-concurrent-requests", "--cuda-memory-fraction", "--num-shard"),
    "tensorrt-llm": Spelled(("--max_seq_len",), "--max_batch_size", "--free_gpu_memory_fraction", "--tp_size"),
}
"""Of engines with a pool."""

STARTS_ANYWAY = ("sglang", "tensorrt-llm")
"""Engines that start with a pool shorter than the longest sequence, and then take no such sequence."""


def spelled(engine: str | None) -> Spelled:
    """The words of an engine with a pool."""
    return SPELLED.get(engine or "", _VLLM)


def context_flags(engine: str | None) -> tuple[str, ...]:
    """Flags that bound one sequence, in the engine's words."""
    if engine in SPELLED:
        return SPELLED[engine].context
    return ("num_ctx", "-c", "--ctx-size") if engine == "ollama" else ("-c", "--ctx-size", "num_ctx")
