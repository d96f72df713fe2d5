"""What is kept of a conversation: its bytes, on a disk or in the host's memory; whether to load it or to compute it again."""

import re
from typing import Literal, NamedTuple

from kvplan.core.device import Gpu
from kvplan.core.ledger import KvPlan
from kvplan.estimator import Estimate
from kvplan.perf import Range
from kvplan.prefixes.saving import first_token

_BUS = {"3": 16e9, "4": 32e9, "5": 64e9, "6": 128e9}  # B/s of 16 lanes, one way
_REACHED = (0.5, 0.8, 0.95)
"""Of the bus, what copies of whole blocks reach: pageable memory at the low end, pinned at the high one. Modeled: no rows behind it."""

_LLAMA_SPACING, _LLAMA_MOST = 8192, 32
"""llama-server's --ctx-checkpoints: at most so many a slot, at least so many tokens apart. Source: llama.cpp b11434 tools/server."""


class Checkpoints(NamedTuple):
    """Copies of what can't be cut back to an earlier token: recurrent states, windows. ``every_tokens`` apart, ``most`` of them."""

    kind: Literal["recurrent", "sliding"]
    bytes_each: int
    every_tokens: int
    n_copies: int


class Kept(NamedTuple):
    """One conversation on one device.

    ``kv_bytes`` grow with its tokens, ``state_bytes`` do not. ``load_s`` is what the bus takes for both, ``compute_s`` what reading the
    conversation again does; None where card or model are not known well enough.
    """

    n_tokens: int
    kv_bytes: int
    state_bytes: int
    checkpoints: Checkpoints | None
    load_s: Range | None
    compute_s: Range | None

    @property
    def bytes(self) -> int:
        """All that has to be saved to go on later without computing."""
        return self.kv_bytes + self.state_bytes


def kept(found: Estimate, n_tokens: int) -> Kept:
    """What this model keeps of a conversation of ``n_tokens`` on this engine and card."""
    kv_bytes = group_bytes(found.kv, n_tokens)
    state = found.kv.state_bytes_per_sequence
    gpu = found.node.gpus[0] if found.node.gpus else None
    rate = bus(gpu) if gpu and not gpu.unified else None
    load = None if rate is None else Range(*((kv_bytes + state) / (rate * share) for share in reversed(_REACHED)))
    compute = None if found.performance is None else first_token(found.performance.of, n_tokens, 0)
    return Kept(n_tokens, kv_bytes, state, _checkpoints(found, n_tokens), load, compute)


def group_bytes(plan: KvPlan, n_tokens: int) -> int:
    """Bytes of keys and values of so many tokens: of a window at most what it holds."""
    return sum(group.n_layers * group.bytes_per_token_per_layer * min(n_tokens, group.window_tokens or n_tokens) for group in plan.groups)


def _checkpoints(found: Estimate, n_tokens: int) -> Checkpoints | None:
    """What the engine copies so that it can go back."""
    state, plan = found.kv.state_bytes_per_sequence, found.kv
    windows = plan._replace(groups=tuple(group for group in plan.groups if group.kind in ("sliding", "chunked")))
    if found.engine in ("llama.cpp", "ollama") and (state or windows.groups):
        size = state + group_bytes(windows, n_tokens)
        return Checkpoints("recurrent" if state else "sliding", size, _LLAMA_SPACING, min(_LLAMA_MOST, max(1, n_tokens // _LLAMA_SPACING)))
    block = found.capacity.block_tokens if found.capacity else None
    if found.engine == "vllm" and state and block:
        each_block = found.settings.get("mamba_cache_mode") == "all"  # else that of each request's last full block
        return Checkpoints("recurrent", state, block, max(1, n_tokens // block) if each_block else 1)
    return None


def bus(gpu: Gpu) -> float:
    """B/s from the host to a card, one way at the bus's peak: by what the catalogue says, else by the card's generation."""
    told = re.search(r"PCIe([3456])", gpu.interconnect)
    major = gpu.compute_capability[0] if gpu.compute_capability else 8
    return _BUS[told[1] if told else "5" if major >= 9 else "4" if major >= 8 else "3"]
