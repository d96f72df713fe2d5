"""What an architecture's keys say of its layers; weights and feed-forwards are the tensor table's business."""

from typing import NamedTuple

from kvplan.core.mixers import Mixer
from kvplan.core.model import Caveat


class Mixing(NamedTuple):
    """What one layer mixes tokens with, and the layer whose keys and values it reads where it keeps none of its own."""

    mixers: tuple[Mixer, ...]
    kv_source: int | None = None


class Plan(NamedTuple):
    """The layers that an architecture runs, in order.

    ``next_token`` is what each layer behind them, which predicts further tokens, would keep if it ran. ``stack`` is where
    the layers' tensors stand: ``blk``, or ``dec.blk`` beside an encoder.
    """

    layers: tuple[Mixing, ...]
    next_token: Mixing = Mixing(())
    stack: str = "blk"
    caveats: tuple[Caveat, ...] = ()
