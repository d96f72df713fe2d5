"""How an engine runs a model, as far as its speed depends on that."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from kvplan.core.ledger import Entry, KvPlan

EngineClass = Literal["eager", "launched", "served", "ggml", "compiled"]
"""``eager`` launches each kernel from Python, ``served`` replays graphs of fused kernels, ``launched`` runs those without graphs,
``ggml`` has llama.cpp's kernels, ``compiled`` is an engine built ahead of time for one model and card."""


UNPACKED = ("bitsandbytes", "bitsandbytes_4bit", "bnb_4bit", "nf4", "nf4_double", "fp4")
"""Methods with a kernel for one row alone. Source: bitsandbytes 0.48 autograd/_functions.py, matmul_4bit: for more rows it writes the
matrix out in 16 bits, and multiplies by that."""


class Pace(NamedTuple):
    """What of the settings bears on time.

    ``dtype`` is the type of weights that name no other, None where they stay as stored. A pass takes at most ``chunk_tokens`` of a
    prompt, all where that is None. ``eager_scores``: attention writes its scores to memory. ``together``: the prompts of a batch are
    one pass. ``tp`` ranks share each layer, ``pp`` stages follow each other, ``dp`` replicas stand side by side. ``linear`` is the
    type that the matrices of unquantized linear layers are brought to while loading. ``unpacks``: a product with more than one row
    first writes matrices of 4 bits out in 16.
    """

    engine: EngineClass
    dtype: str | None = None
    chunk_tokens: int | None = None
    eager_scores: bool = False
    together: bool = False
    tp: int = 1
    pp: int = 1
    dp: int = 1
    linear: str | None = None
    unpacks: bool = False


class Held(NamedTuple):
    """What steps read, whatever the workload: bytes of weights by place, and the types of cached keys and values."""

    weights: tuple[tuple[str, int], ...]
    k_dtype: str
    v_dtype: str


def held(entries: Iterable[Entry], kv: KvPlan) -> Held:
    """What the ledger and the cache of a deployment say of that."""
    return Held(by_place((entry.place, entry.size.best) for entry in entries if entry.term == "weights"), kv.k_dtype, kv.v_dtype)


def by_place(weights: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Bytes of all weights at each place: several buffers may lie at one."""
    found: dict[str, int] = {}
    for place, n_bytes in weights:
        found[place] = found.get(place, 0) + n_bytes
    return tuple(found.items())
