"""What a layer mixes tokens with: one small value per kind, closed on purpose.

A mixer carries geometry and says what the mathematics must keep per token or per sequence; what an allocator
takes for it (blocks, padding, element types) is the engine's business. ``kind`` tells kinds apart at run time.
"""

from kvplan.core.mixers.chunked import ChunkedAttention
from kvplan.core.mixers.compressed import CompressedAttention
from kvplan.core.mixers.cross import CrossAttention
from kvplan.core.mixers.full import FullAttention
from kvplan.core.mixers.gated_delta import GatedDeltaNet
from kvplan.core.mixers.linear import LinearAttention
from kvplan.core.mixers.mamba1 import Mamba1
from kvplan.core.mixers.mamba2 import Mamba2
from kvplan.core.mixers.mla import Mla
from kvplan.core.mixers.rg_lru import RgLru
from kvplan.core.mixers.rwkv import Rwkv
from kvplan.core.mixers.short_conv import ShortConv
from kvplan.core.mixers.sliding import SlidingAttention

TokenMixer = FullAttention | SlidingAttention | ChunkedAttention | Mla | CompressedAttention
"""Mixers whose cache grows with the tokens of a sequence, up to a window where they have one."""

StateMixer = Mamba1 | Mamba2 | GatedDeltaNet | LinearAttention | ShortConv | Rwkv | RgLru
"""Mixers that keep a state of fixed size per sequence."""

Mixer = TokenMixer | StateMixer | CrossAttention

__all__ = [
    "ChunkedAttention",
    "CompressedAttention",
    "CrossAttention",
    "FullAttention",
    "GatedDeltaNet",
    "LinearAttention",
    "Mamba1",
    "Mamba2",
    "Mixer",
    "Mla",
    "RgLru",
    "Rwkv",
    "ShortConv",
    "SlidingAttention",
    "StateMixer",
    "TokenMixer",
]
