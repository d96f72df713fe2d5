"""Weights that wait on the host or on disk, and pass through a GPU while they are used.

Source: accelerate 1.15 hooks.py, AlignDevicesHook: each module with tensors of its own is loaded before its forward and dropped after.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.ledger import Entry, Interval
from kvplan.core.workload import Workload
from kvplan.engines.transformers.footprint import Peaks
from kvplan.engines.transformers.modules import Module


class Passing(NamedTuple):
    """Bytes of the largest module in a layer that passes through and of the largest beside them, and of a whole such layer."""

    inside: int
    outside: int
    layer: int

    def in_prompt(self, peaks: Peaks) -> int:
        """What the pass over the prompt needs more: its widest moment lies between two products, when no weight is there.

        The second of two projections runs with about four fifths of that alive, what stands outside the layers with next to nothing.
        """
        return max(0, self.outside - peaks.surge, self.inside - peaks.surge // 5 if self.inside else 0)

    @property
    def in_step(self) -> int:
        """What a decode step needs more: its activations are small."""
        return max(self.inside, self.outside)

    def size(self, peaks: Peaks, load: Workload) -> Interval:
        """What the peak grows by; segments of the sizes in a layer stay reserved after them."""
        without = max(peaks.prefill, peaks.decode)
        step = peaks.decode + self.in_step if load.decode_steps else 0
        best = max(peaks.prefill + self.in_prompt(peaks), step) - without
        least = max(peaks.prefill + max(0, self.in_step - peaks.surge), step) - without
        return Interval(least, best, best + self.layer)

    def entry(self, peaks: Peaks, load: Workload) -> Entry:
        """The line of the ledger."""
        return Entry(
            term="offload",
            name="weights passing through",
            place="gpu0",
            size=self.size(peaks, load),
            basis="modeled",
            formula="one module at a time, of at most {inside} B in a layer and {outside} B beside them, where it exceeds what a pass has "
            "let go of by then; segments of a layer's {layer} B may stay",
            inputs={"inside": self.inside, "outside": self.outside, "layer": self.layer},
            source="accelerate 1.15 hooks.py, AlignDevicesHook; traced",
        )


def passing(modules: Sequence[Module]) -> Passing | None:
    """What of these modules passes through; None where there are none."""
    if not modules:
        return None
    layers, others = ([m for m in modules if (m.layer is None) is outside] for outside in (False, True))
    return Passing(
        inside=max((module.leaf for module in layers), default=0),
        outside=max((module.leaf for module in others), default=0),
        layer=max((module.size for module in layers), default=0),
    )
