"""What PyTorch's caching allocator reserves and can't hand out, calibrated on traces that were replayed through a model of it.

Source: PyTorch 2.13 c10/cuda/CUDACachingAllocator.cpp, as in core/allocator.py and core/expandable.py.
"""

from typing import NamedTuple

from kvplan.core.ledger import Entry, Interval
from kvplan.core.units import MIB


class Row(NamedTuple):
    """One traced run: the model, its tokens, and hundredths of the peak beside the weights that were reserved above it, with segments
    of a fixed size and with expandable ones."""

    model: str
    tokens: int
    fixed: float
    expandable: float


class Share(NamedTuple):
    """Hundredths of cache and activations, the readings that they hold, of runs of any size."""

    low: int
    best: int
    high: int
    rows: tuple[Row, ...]

    def of(self, n_bytes: int) -> Interval:
        """The interval for ``n_bytes`` of cache and activations."""
        return Interval(n_bytes * self.low // 100, n_bytes * self.best // 100, n_bytes * self.high // 100 + ROUNDED_UP)


ROUNDED_UP = 32 * MIB
"""Segments of 2 and 20 MiB that the smallest tensors fill in part."""

CALIBRATED = 3
"""Models that an interval must have been read from."""

EVEN = (
    Row("llama-3.1-8b", 4_000, 22.1, 4.9),
    Row("llama-3.1-8b", 32_768, 22.2, 4.9),
    Row("qwen3-8b", 4_096, 18.3, 9.0),
    Row("qwen3-8b", 32_768, 17.0, 6.4),
    Row("gemma-3-12b", 6_000, 19.7, 12.4),
    Row("gemma-3-12b", 32_768, 12.1, 4.9),
    Row("mistral-7b-v0.1", 6_000, 21.9, 5.8),
    Row("mistral-7b-v0.1", 32_768, 16.5, 2.6),
    Row("qwen3-30b-a3b", 6_000, 25.3, 2.9),
    Row("qwen3-30b-a3b", 32_768, 12.3, 3.3),
    Row("phi-4", 6_000, 10.0, 5.2),
    Row("phi-4", 4_096, 8.0, 6.6),
    Row("llama-2-13b", 6_000, 30.6, 1.6),
    Row("llama-2-13b", 32_768, 29.2, 1.3),
    Row("qwen2.5-14b", 32_768, 15.7, 5.0),
    Row("mistral-nemo", 6_000, 13.8, 10.6),
    Row("llama-3.2-3b", 4_096, 7.3, 10.6),
    Row("llama-3.2-3b", 32_768, 10.4, 7.6),
    Row("qwen2.5-32b", 6_000, 14.9, 4.1),
    Row("granite-3.3-8b", 4_096, 20.8, 8.4),
    Row("llama-3-70b", 32_768, 17.8, 3.6),
    Row("gemma-2b", 6_000, 2.2, 1.7),
    Row("gemma-2b", 32_768, 19.9, 2.1),
)
UNEVEN = (
    Row("deepseek-v2-lite", 6_000, 46.6, 6.3),
    Row("deepseek-v2-lite", 32_768, 43.6, 6.8),
    Row("falcon-7b", 6_000, 2.7, 2.7),
    Row("falcon-7b", 4_096, 0.2, 0.4),
    Row("falcon-7b", 32_768, 30.6, 0.1),
)
"""Latent attention, and scores of all tokens in memory: tensors of very different sizes."""

SHARES = {
    ("fixed", True): Share(2, 17, 31, EVEN),
    ("expandable", True): Share(1, 5, 13, EVEN),
    ("fixed", False): Share(0, 20, 47, UNEVEN),
    ("expandable", False): Share(0, 5, 13, UNEVEN),
}
"""By the allocator's segments, and whether tensors are of even sizes."""


def entry(share: Share, transient_bytes: int) -> Entry:
    """What is held of ``transient_bytes`` of cache and activations.

    Segments are 2 or 20 MiB or rounded to 2 MiB, and blocks of different segments never merge: what one layer let go of is cut up by the
    next one's cache. Before it gives up, the allocator returns segments without any use; in the six replays that looked, that saved
    less than 1 %.
    """
    models = len({row.model for row in share.rows})
    return Entry(
        term="allocator",
        name="allocator",
        place="gpu0",
        size=share.of(transient_bytes),
        basis="calibrated" if models >= CALIBRATED else "modeled",
        formula="{best} % of {transient} B ({low} to {high} % + {rounded} MiB)",
        inputs={
            "transient": transient_bytes,
            "low": share.low,
            "best": share.best,
            "high": share.high,
            "rounded": ROUNDED_UP // MIB,
        },
        source=f"PyTorch 2.13 CUDACachingAllocator.cpp; {len(share.rows)} replayed traces of {models} models",
    )
