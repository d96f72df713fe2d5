"""The host's side beside buffers: the process itself, saved prompts and checkpoints.

Source: measured on b11434, 34 runs of llama-server; llama.cpp b11434 tools/server/server-context.cpp, server-task.cpp.
"""

from collections.abc import Mapping

from kvplan.core.ledger import Interval
from kvplan.core.model import ModelSpec
from kvplan.core.units import MIB
from kvplan.engines.llamacpp.cache import Cache
from kvplan.engines.llamacpp.rows import Kind
from kvplan.engines.llamacpp.settings import Settings

BINARIES = 15 * MIB  # pages of the program and its libraries
_SMALL_VOCAB, _SMALL_BASE = 57_000, 17 * MIB
_VOCAB_BYTES = 175  # of each token of the vocabulary: its text, its merges, its place in tables
_SERVERS = ("server", "cli", "ollama")


def process(model: ModelSpec) -> Interval:
    """The program, and the vocabulary in its tables; within 10 MiB of every run."""
    best = BINARIES + _SMALL_BASE + max(0, model.vocab_size - _SMALL_VOCAB) * _VOCAB_BYTES
    return Interval(max(0, best - 10 * MIB), best, best + 10 * MIB)


def prompt_cache(settings: Settings) -> int:
    """Bytes that saved prompts may grow to, 0 where there are none; without a limit none is known, and none counted."""
    return max(0, settings.cache_ram_mib) * MIB if settings.app in _SERVERS else 0


def saved_prompt(cache: Cache) -> tuple[int, int]:
    """What a saved prompt, or a slot's file, takes: bytes of each token, and of what does not grow with it, windows and states.

    Measured on b11434: 114,688 bytes of each token of Qwen3-0.6B, the rate of its cache.
    """
    each = rest = 0
    for held in cache.held:
        pool = cache.pools[held.row.kind]
        n_bytes = held.n_bytes // pool.n_cells
        if held.row.kind in ("swa", "state"):
            rest += n_bytes * (pool.cells if held.row.kind == "swa" else 1)
        elif held.row.kind in ("full", "indexer"):
            each += n_bytes
    return each, rest


def checkpoints(settings: Settings, cached: Mapping[tuple[Kind, str], int]) -> int:
    """Bytes that context checkpoints may grow to: windows or states of every slot, so many times over."""
    if settings.app not in _SERVERS:
        return 0
    rolling = ("state",) if settings.swa_full else ("state", "swa")
    return settings.ctx_checkpoints * sum([n_bytes for (kind, _), n_bytes in cached.items() if kind in rolling])
