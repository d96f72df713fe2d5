"""What a layer mixes tokens with: one small value per kind, closed on purpose.

A mixer carries geometry and says what the mathematics must keep per token or per sequence; what an allocator
takes for it (blocks, padding, element types) is the engine's business. ``kind`` tells kinds apart at run time.

Kinds are imported when first asked for: a model has one or two of them, and a cold estimate counts milliseconds.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvplan.core.mixers.chunked import ChunkedAttention as ChunkedAttention
    from kvplan.core.mixers.compressed import CompressedAttention as CompressedAttention
    from kvplan.core.mixers.cross import CrossAttention as CrossAttention
    from kvplan.core.mixers.full import FullAttention as FullAttention
    from kvplan.core.mixers.gated_delta import GatedDeltaNet as GatedDeltaNet
    from kvplan.core.mixers.linear import LinearAttention as LinearAttention
    from kvplan.core.mixers.mamba1 import Mamba1 as Mamba1
    from kvplan.core.mixers.mamba2 import Mamba2 as Mamba2
    from kvplan.core.mixers.mla import Mla as Mla
    from kvplan.core.mixers.rg_lru import RgLru as RgLru
    from kvplan.core.mixers.rwkv import Rwkv as Rwkv
    from kvplan.core.mixers.short_conv import ShortConv as ShortConv
    from kvplan.core.mixers.sliding import SlidingAttention as SlidingAttention

    TokenMixer = FullAttention | SlidingAttention | ChunkedAttention | Mla | CompressedAttention
    """Mixers whose cache grows with the tokens of a sequence, up to a window where they have one."""

    StateMixer = Mamba1 | Mamba2 | GatedDeltaNet | LinearAttention | ShortConv | Rwkv | RgLru
    """Mixers that keep a state of fixed size per sequence."""

    Mixer = TokenMixer | StateMixer | CrossAttention

_FILES = {
    "ChunkedAttention": "chunked",
    "CompressedAttention": "compressed",
    "CrossAttention": "cross",
    "FullAttention": "full",
    "GatedDeltaNet": "gated_delta",
    "LinearAttention": "linear",
    "Mamba1": "mamba1",
    "Mamba2": "mamba2",
    "Mla": "mla",
    "RgLru": "rg_lru",
    "Rwkv": "rwkv",
    "ShortConv": "short_conv",
    "SlidingAttention": "sliding",
}


def __getattr__(name: str) -> object:
    """The kind called ``name``, its file imported now; the unions exist for the type checker alone."""
    if name in _FILES:
        import importlib

        return getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
    if name in ("TokenMixer", "StateMixer", "Mixer"):
        return object
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
