"""Attention as GGUF keys describe it: heads per layer, and which layers see a window only.

Source: llama.cpp b11434 src/llama-model.cpp, load_hparams and load_swa_pattern; src/llama-hparams.cpp, set_swa_pattern.
"""

from kvplan.core.mixers import FullAttention, SlidingAttention
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Mixing, Plan


def full(keys: Keys, i: int, *, narrow: bool = False) -> FullAttention | None:
    """The heads of block ``i``, None where it has none; ``narrow`` are those of layers with a window.

    Widths of keys and values are ``key_length`` and ``value_length``, else embedding_length / head_count of the first layer
    with heads; layers with a window may have ``key_length_swa`` and ``value_length_swa``.
    """
    n_heads, n_kv_heads = heads(keys, i)
    if not n_kv_heads:
        return None
    return FullAttention(n_heads, n_kv_heads, _width(keys, "key", narrow=narrow), _width(keys, "value", narrow=narrow))


def heads(keys: Keys, i: int) -> tuple[int, int]:
    """Query heads and KV heads of block ``i``; as many of these where no key says how many. Raises RequestError."""
    counts = keys.per_layer("attention.head_count")
    if not any(counts):
        raise keys.error("attention.head_count", "expected at least one layer with heads, found none")
    n_heads = counts[i]
    n_kv_heads = keys.per_layer("attention.head_count_kv")[i] if keys.has("attention.head_count_kv") else n_heads
    if n_kv_heads and n_heads % n_kv_heads:
        raise keys.error("attention.head_count_kv", f"expected a divisor of the {n_heads} heads of block {i}, found {n_kv_heads}")
    return n_heads, n_kv_heads


def attending(keys: Keys, i: int) -> Mixing:
    """Attention over every earlier token in block ``i``."""
    mixer = full(keys, i)
    return Mixing((mixer,) if mixer else ())


def sliding(keys: Keys, i: int, window: int) -> Mixing:
    """Attention over the last ``window`` tokens in block ``i``."""
    mixer = full(keys, i, narrow=True)
    return Mixing((SlidingAttention(*mixer[:4], window),) if mixer else ())


def attending_plan(keys: Keys) -> Plan:
    """Every layer attends to every earlier token."""
    return Plan(keys.layers(lambda i: attending(keys, i)), next_attending(keys))


def next_attending(keys: Keys) -> Mixing:
    """Next-token layers with attention of the last block's heads, nothing where there are none."""
    return attending(keys, keys.n_blocks - 1) if keys.n_next_token else Mixing(())


def windowed(keys: Keys, period: int, *, dense_first: bool = False) -> tuple[bool, ...]:
    """Which layers see a window only: ``sliding_window_pattern``, an array or a period, else every layer but one in ``period``.

    The layer that sees everything is the last of its period, or the first; with a period of 0 there is none.
    """
    given = keys.flags("attention.sliding_window_pattern")
    if given is not None:
        return given
    period = keys.integer("attention.sliding_window_pattern", default=period, least=0)
    return keys.layers(lambda i: not period or i % period != (0 if dense_first else period - 1))


def _width(keys: Keys, side: str, *, narrow: bool) -> int:
    width = keys.integer(f"attention.{side}_length", default=0, least=0) or _even(keys)
    return keys.integer(f"attention.{side}_length_swa", default=width) if narrow else width


def _even(keys: Keys) -> int:
    return keys.hidden // next(n for n in keys.per_layer("attention.head_count") if n)
