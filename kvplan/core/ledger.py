"""Where each byte goes: entries with an interval, a basis, a formula and a source. Totals are sums of entries."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

Basis = Literal["exact", "calibrated", "modeled", "measured"]
Verdict = Literal["fits", "tight", "does_not_fit", "unknown"]
Stage = Literal["parse", "config", "load", "profile", "kv_check", "capture"]
Term = Literal[
    "weights",
    "kv_cache",
    "recurrent_state",
    "activations",
    "logits",
    "output_buffer",
    "compute_buffer",
    "graphs",
    "workspace",
    "runtime_context",
    "allocator",
    "draft_model",
    "lora",
    "projector",
    "prompt_cache",
    "offload",
]


class Interval(NamedTuple):
    """A size with the bounds that hold it; ``low`` = ``best`` = ``high`` where it is exact."""

    low: int
    best: int
    high: int

    def plus(self, other: "Interval") -> "Interval":
        """Sum, bound by bound."""
        return Interval(self.low + other.low, self.best + other.best, self.high + other.high)


ZERO = Interval(0, 0, 0)


def exactly(n_bytes: int) -> Interval:
    """An interval of one value."""
    return Interval(n_bytes, n_bytes, n_bytes)


def total(sizes: Iterable[Interval]) -> Interval:
    """Sum of intervals."""
    low = best = high = 0
    for size in sizes:
        low, best, high = low + size.low, best + size.best, high + size.high
    return Interval(low, best, high)


class Entry(NamedTuple):
    """One line of the ledger.

    ``formula`` is a template over ``inputs`` (``{n_layers} · {elems}``), filled in only when it is shown.
    ``device`` is the engine's own name of a buffer's device where it has one. ``listed`` is False for ranks that another
    one's lines stand for: they count in their place's total and are not shown.
    """

    term: Term
    name: str
    place: str
    size: Interval
    basis: Basis
    formula: str
    inputs: Mapping[str, int | str]
    source: str
    device: str | None = None
    listed: bool = True


class Refusal(NamedTuple):
    """What the engine itself would say no to, in its own words."""

    rule: str
    at: Stage
    text: str


class Fix(NamedTuple):
    """A flag to change, and what that does to the bytes needed (None where it does not bear on memory).

    ``unchecked`` says why no estimate tells whether it is enough, empty where one does or none is needed.
    """

    flag: str
    before: str
    after: str
    effect_bytes: int | None = None
    unchecked: str = ""


class Finding(NamedTuple):
    """Something the user should know about the request, with a way out."""

    rule: str
    level: Literal["error", "warning", "note"]
    message: str
    hint: str = ""
    fixes: tuple[Fix, ...] = ()


class NotModeled(NamedTuple):
    """Memory that kvplan knows of and does not count, with bounds where there are any."""

    id: str
    message: str
    low_bytes: int | None = None
    high_bytes: int | None = None


class Phases(NamedTuple):
    """Live tensor bytes on the fullest GPU in each phase, weights included, allocator and context not."""

    load_peak_bytes: int | None
    prefill_peak_bytes: int | None
    decode_peak_bytes: int | None

    @property
    def peak(self) -> str | None:
        """Name of the phase with the highest peak."""
        known = [
            (size, name)
            for name, size in (("load", self.load_peak_bytes), ("prefill", self.prefill_peak_bytes), ("decode", self.decode_peak_bytes))
            if size is not None
        ]
        return max(known)[1] if known else None


class KvGroup(NamedTuple):
    """Layers with the same cache geometry."""

    kind: str
    n_layers: int
    window_tokens: int | None
    bytes_per_token_per_layer: int


class KvPlan(NamedTuple):
    """The cache of one device: ``ideal`` is what the mathematics must keep, ``reserved`` what the allocator takes."""

    k_dtype: str
    v_dtype: str
    bytes_per_token: int
    marginal_bytes_per_token: int
    state_bytes_per_sequence: int
    ideal_bytes: int
    reserved_bytes: int
    groups: tuple[KvGroup, ...]
