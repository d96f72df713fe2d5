"""The caches of a layer that keeps a window of plain entries and compressed ones for everything older (DeepSeek-V4).

Source: vllm 0.33 models/deepseek_v4/attention.py and compressor.py, v1/attention/backends/mla/sparse_swa.py, in the packed
layout of fp8, which is the default on Hopper.
"""

from kvplan.core.mixers import CompressedAttention
from kvplan.core.units import ceil_to
from kvplan.engines.vllm.backends import COMPRESSED_BLOCK
from kvplan.engines.vllm.slots import Slot

ENTRY = 584  # 448 channels of one byte, 64 rotated ones of two, eight scales
KEY_SCALE = 4
ALIGNMENT = 576
WINDOW_BLOCK = 64
_STATE_BLOCKS = {True: 4, False: 8}  # tokens of a block of states, overlapping or not


def compressed(mixer: CompressedAttention) -> tuple[Slot, ...]:
    """The window; where entries are compressed, those and the states of tokens that wait; an indexer's keys and states."""
    window = Slot("sliding", WINDOW_BLOCK, _page(WINDOW_BLOCK * ENTRY), ("window",), mixer.window_tokens)
    if not mixer.ratio:
        return (window,)
    n_entries, overlaps = COMPRESSED_BLOCK // mixer.ratio, mixer.indexer is not None
    entries = Slot("mla", COMPRESSED_BLOCK, _page(n_entries * ENTRY), ("entries", mixer.ratio))
    found = [window, entries, _states(mixer.head_dim, mixer.ratio, overlaps=overlaps)]
    if mixer.indexer is not None:
        key = mixer.indexer.head_dim + KEY_SCALE
        found.append(Slot("mla", COMPRESSED_BLOCK, _page(n_entries * key), ("indexer", key)))
        found.append(_states(mixer.indexer.head_dim, mixer.ratio, overlaps=overlaps))
    return tuple(found)


def _states(dim: int, ratio: int, *, overlaps: bool) -> Slot:
    """Values and gates, in float32, of the tokens whose entry is not full yet, of two entries where they overlap."""
    n_entries = 2 if overlaps else 1
    block = _STATE_BLOCKS[overlaps]
    return Slot("sliding", block, _page(block * 2 * n_entries * dim * 4), ("states", dim), n_entries * ratio)


def _page(n_bytes: int) -> int:
    return ceil_to(n_bytes, ALIGNMENT)
