"""What PyTorch's caching allocator reserves and can't hand out: by replaying a family's order of tensors, else by what replayed traces
of other families had.

Source: PyTorch 2.13 c10/cuda/CUDACachingAllocator.cpp, as in core/allocator.py and core/expandable.py.
"""

from typing import NamedTuple

from kvplan.core.allocator import ALONE_STEP_BYTES, LARGE_SEGMENT_BYTES
from kvplan.core.ledger import Basis, Entry, Interval
from kvplan.core.units import MIB
from kvplan.engines.transformers.fragments import Fragments
from kvplan.engines.transformers.shares import Share

ROUNDED_UP = 32 * MIB
"""Segments of 2 and 20 MiB that the smallest tensors fill in part."""

CALIBRATED = 3
"""Models that an interval must have been read from."""

TRACED = "tensors of a layer in the order of transformers 5.24 modeling code, replayed through it"


class Load(NamedTuple):
    """Bytes alive beside the weights: at the prompt's peak, at that of decoding without copies of experts' weights, and those copies,
    which were not there when the prompt made its segments. ``widest`` is the prompt's largest tensor, 0 where nobody knows."""

    prompt: int
    decode: int
    copies: int
    widest: int

    @property
    def alive(self) -> int:
        """The run's peak."""
        return max(self.prompt, self.decode + self.copies)

    @property
    def new(self) -> int:
        """Bytes of segments that the copies may need: one of two parts of the weights, the larger two thirds of them, may fit in what
        the prompt left."""
        return min(self.copies, max(0, 2 * (self.copies - self.widest)))


class Segments(NamedTuple):
    """``share`` of what is alive, closer where the family's order was ``found``. At most, ``weights`` bytes are for weights rounded up,
    and ``small`` for caches that grew out of the segments of small tensors."""

    share: Share
    found: Fragments | None
    weights: int
    small: int

    @property
    def basis(self) -> Basis:
        """Modeled where a family's order is replayed; else calibrated on enough other models, or modeled on too few."""
        return "calibrated" if self.found is None and len(self.share.models) >= CALIBRATED else "modeled"

    def size(self, load: Load) -> Interval:
        """Reserved beside the run's peak: as after its prompt, or as its cache needs while it grows."""
        low, best, high = self._after_prompt(load.prompt)
        grown = self.share.of(load.decode)
        high = max(high, load.decode + grown.high + self.small) + load.new + ROUNDED_UP + self.weights
        if self.found is None:
            low, best = max(low, load.decode + grown.low), max(best, load.decode + grown.best)
        return Interval(max(0, low - load.alive), max(0, best + load.new - load.alive), high - load.alive)

    def _after_prompt(self, alive: int) -> Interval:
        """Reserved after a prompt whose peak is ``alive``."""
        if self.found is None:
            low, best, high = self.share.of(alive)
            return Interval(alive + low, alive + best, alive + high)
        low, best, high, beyond = self.found[:4]
        rounded = ALONE_STEP_BYTES * self.found.n_segments
        short = min(alive, self.found.alive * LARGE_SEGMENT_BYTES // self.found.cached)
        return Interval(
            alive + alive * low // 1000 - ROUNDED_UP,
            alive + alive * best // 1000,
            alive + alive * high // 1000 + short * beyond // 1000 + rounded,
        )


def entry(segments: Segments, load: Load) -> Entry:
    """What is held beside cache and activations.

    Segments are 2 or 20 MiB or rounded to 2 MiB, and blocks of different segments never merge: what one layer let go of is cut up by the
    next one's cache. Before it gives up, the allocator returns segments without any use: of a cache that grows far, no more than these
    are needed, though a process with room to spare reserves more.
    """
    found = segments.found
    formula, inputs = _of_share(segments.share) if found is None else _of_order(found)
    beyond = " + {new} B for experts' weights" if load.new else ""
    return Entry(
        term="allocator",
        name="allocator",
        place="gpu0",
        size=segments.size(load),
        basis=segments.basis,
        formula=formula + beyond,
        inputs={"transient": load.alive, "prompt": load.prompt, "decode": load.decode}
        | inputs
        | ({"new": load.new} if load.new else {})
        | {"rounded": (ROUNDED_UP + segments.weights) // MIB},
        source="PyTorch 2.13 CUDACachingAllocator.cpp; " + (_counted(segments.share) if found is None else TRACED),
    )


def _of_share(share: Share) -> tuple[str, dict[str, int]]:
    text = "{best} % of the larger of {prompt} B after the prompt and {decode} B while decoding ({low} to {high} % + {rounded} MiB)"
    return text, {"low": share.low, "best": share.best, "high": share.high}


def _of_order(found: Fragments) -> tuple[str, dict[str, int]]:
    text = "{best} ‰ of {prompt} B at the prompt's peak ({low} to {high} ‰ + {segments} × 2 MiB + {rounded} MiB)"
    return text, {"low": found.low, "best": found.best, "high": found.high, "segments": found.n_segments}


def _counted(share: Share) -> str:
    return f"{len(share.rows)} replayed traces of {len(share.models)} models"
