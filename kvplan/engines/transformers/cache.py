"""What each layer's cache keeps, for every cache class of Transformers.

Source: transformers 5.24 cache_utils.py: DynamicLayer, DynamicSlidingWindowLayer, StaticLayer, StaticSlidingWindowLayer,
QuantoQuantizedLayer, HQQQuantizedLayer, Fp8QuantizedLayer, LinearAttentionLayer.
"""

from typing import NamedTuple

from kvplan.core.dtypes import DTYPES
from kvplan.core.mixers import Mixer
from kvplan.core.model import Layer
from kvplan.core.units import ceil_div
from kvplan.engines.transformers.rules import RULES, Rules

FLOAT32 = 4
GROUP_ELEMS = 64
RESIDUAL_TOKENS = 128


class Rule(NamedTuple):
    """How many entries are kept of a sequence: one per ``ratio`` tokens, at most ``window`` unless nothing ``drops`` the others."""

    window: int | None = None
    ratio: int = 1
    drops: bool = True

    @property
    def shrinks(self) -> bool:
        """Whether entries are let go of."""
        return self.window is not None and self.drops

    def kept(self, n_tokens: int) -> int:
        """Entries kept after ``n_tokens`` once the window is applied."""
        entries = n_tokens // self.ratio
        return entries if self.window is None or not self.drops else min(entries, self.window)


class Slot(NamedTuple):
    """Two tensors that grow together: bytes of one entry of each, in one layer and for one sequence."""

    rule: Rule
    key_bytes: int
    value_bytes: int

    @property
    def bytes(self) -> int:
        """Bytes of one entry of both."""
        return self.key_bytes + self.value_bytes


class Store(NamedTuple):
    """What one layer keeps: slots that grow, and per sequence ``fixed_bytes`` of a constant cache and ``state_bytes``.

    Of the fixed bytes ``tail_bytes`` are the last tokens of a quantized cache as they came: they come and go.
    """

    slots: tuple[Slot, ...] = ()
    fixed_bytes: int = 0
    tail_bytes: int = 0
    state_bytes: int = 0

    def emptied(self) -> "Store":
        """The same windows with nothing in them: a run without a cache."""
        return Store(tuple(slot._replace(key_bytes=0, value_bytes=0) for slot in self.slots))


def store(layer: Layer, dtype: str, elem_bytes: int, rules: Rules = RULES[-1]) -> Store:
    """What ``layer`` keeps with its cache stored as ``dtype``, in a model that computes in ``elem_bytes`` per element.

    A layer that reads another layer's keys and values keeps none. A cache of integers keeps its last 128 tokens as they came.
    """
    slots: list[Slot] = []
    fixed = tail = state = 0
    for mixer in layer.mixers if layer.kv_source is None else ():
        for rule, keys, values in _growing(mixer, rules):
            rule = rule._replace(drops=rules.drops) if rule.window is not None else rule
            slots.append(Slot(rule, entry_bytes(keys, dtype, elem_bytes), entry_bytes(values, dtype, elem_bytes)))
            tail += RESIDUAL_TOKENS * elem_bytes * (keys + values) if dtype.startswith("int") else 0
        fixed += elem_bytes * _constant_elems(mixer)
        state += state_bytes(mixer, elem_bytes)
    return Store(tuple(slots), fixed + tail, tail, state)


def entry_bytes(n_elems: int, dtype: str, elem_bytes: int) -> int:
    """Bytes of ``n_elems`` of one cached entry; integers carry a scale and a zero point for each group of 64.

    Source: QuantizedCache's q_group_size; their type is the model's.
    """
    kind = DTYPES[dtype]
    scales = 2 * elem_bytes * ceil_div(n_elems, GROUP_ELEMS) if kind.name.startswith("int") else 0
    return kind.row_bytes(n_elems) + scales if n_elems else 0


def _growing(mixer: Mixer, rules: Rules) -> tuple[tuple[Rule, int, int], ...]:
    """(rule, key elements, value elements) of what grows with the sequence."""
    match mixer.kind:
        case "full":
            return ((Rule(), mixer.n_kv_heads * mixer.head_dim, mixer.n_kv_heads * mixer.v_head_dim),)
        case "sliding" | "chunked":
            return ((Rule(mixer.window_tokens), mixer.n_kv_heads * mixer.head_dim, mixer.n_kv_heads * mixer.v_head_dim),)
        case "mla" if not rules.latent:
            return (
                (Rule(mixer.window_tokens), mixer.n_heads * (mixer.nope_head_dim + mixer.rope_head_dim), mixer.n_heads * mixer.v_head_dim),
            )
        case "mla":
            latent = (Rule(mixer.window_tokens), mixer.kv_lora_rank, mixer.rope_head_dim)
            index = mixer.indexer
            return (latent, (Rule(ratio=index.pool_tokens), index.head_dim, 0)) if index else (latent,)
        case "compressed":
            plain = (Rule(mixer.window_tokens), mixer.elems_per_token, 0)
            entries = (Rule(ratio=max(1, mixer.ratio)), mixer.elems_per_token, mixer.indexer_elems_per_entry)
            return (plain, entries) if mixer.ratio else (plain,)
        case (
            "cross" | "mamba1" | "mamba2" | "gated_delta" | "linear" | "short_conv" | "rwkv" | "rg_lru"
        ):  # pragma: no branch - the kinds end here
            return ()


def _constant_elems(mixer: Mixer) -> int:
    """Elements kept per sequence whatever its length, states not included."""
    match mixer.kind:
        case "cross":
            return mixer.elems_per_sequence
        case "compressed":
            return mixer.pending_elems(mixer.window_tokens + mixer.ratio)
        case "mla":
            return 2 * mixer.indexer.head_dim * (mixer.indexer.pool_tokens - 1) if mixer.indexer else 0
        case (
            "full" | "sliding" | "chunked" | "mamba1" | "mamba2" | "gated_delta" | "linear" | "short_conv" | "rwkv" | "rg_lru"
        ):  # pragma: no branch - the kinds end here
            return 0


def state_bytes(mixer: Mixer, elem_bytes: int) -> int:
    """Bytes of the state of one layer and sequence: recurrent states in float32, convolutions with all of their kernel.

    Source: transformers 5.24 cache_utils.py, LinearAttentionLayer; what models/*/modeling_*.py hand it.
    """
    match mixer.kind:
        case "mamba1":
            return FLOAT32 * mixer.state_elems + elem_bytes * mixer.inner_dim * mixer.conv_kernel
        case "mamba2" | "gated_delta":
            return FLOAT32 * mixer.state_elems + elem_bytes * mixer.conv_dim * mixer.conv_kernel
        case "short_conv":
            return elem_bytes * mixer.channels * mixer.conv_kernel
        case "rg_lru":
            return elem_bytes * (mixer.state_elems + mixer.width * mixer.conv_kernel)
        case "linear" if not mixer.normalizer:  # lightning attention sums in the model's own type
            return elem_bytes * mixer.state_elems
        case "linear" | "rwkv":
            return FLOAT32 * mixer.state_elems + elem_bytes * mixer.conv_elems
        case "full" | "sliding" | "chunked" | "compressed" | "mla" | "cross":  # pragma: no branch - the kinds end here
            return 0


def ideal_bytes(mixer: Mixer, n_tokens: int, elem_bytes: int) -> int:
    """What the mathematics must keep of one sequence in one layer after ``n_tokens``, states not included."""
    match mixer.kind:
        case "full" | "sliding" | "chunked":
            return elem_bytes * mixer.kept_tokens(n_tokens) * mixer.elems_per_token
        case "mla":
            return elem_bytes * (mixer.kept_tokens(n_tokens) * mixer.elems_per_token + mixer.indexer_elems(n_tokens))
        case "compressed":
            kept = mixer.kept_tokens(n_tokens) * mixer.elems_per_token
            return elem_bytes * (kept + mixer.indexer_elems(n_tokens) + mixer.pending_elems(n_tokens))
        case "cross":
            return elem_bytes * mixer.elems_per_sequence
        case "mamba1" | "mamba2" | "gated_delta" | "linear" | "short_conv" | "rwkv" | "rg_lru":  # pragma: no branch - the kinds end here
            return 0
