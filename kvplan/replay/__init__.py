"""Requests replayed through a cache of prefixes: tokens in, hits out; nothing is read or run.

``blocks`` is a pool of blocks as vLLM keeps one, ``slots`` the last prompts of llama.cpp's slots. Content is bytes, four a token.
"""

from kvplan.replay.blocks import Blocks, Shape, Taken
from kvplan.replay.curve import Curve
from kvplan.replay.slots import Slots

__all__ = ["Blocks", "Curve", "Shape", "Slots", "Taken"]
