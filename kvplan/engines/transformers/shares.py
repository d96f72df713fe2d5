"""What PyTorch's caching allocator held of whole runs, in traces that were replayed through core/allocator.py and core/expandable.py."""

from typing import NamedTuple

from kvplan.core.ledger import Interval


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

    @property
    def models(self) -> frozenset[str]:
        """Those that were read."""
        return frozenset(row.model for row in self.rows)

    def of(self, n_bytes: int) -> Interval:
        """The interval for ``n_bytes`` of cache and activations."""
        return Interval(n_bytes * self.low // 100, n_bytes * self.best // 100, n_bytes * self.high // 100)


EVEN = (
    Row("llama-3.1-8b", 4_000, 22.1, 4.9),
    Row("llama-3.1-8b", 32_768, 22.2, 4.9),
    Row("llama-3.1-8b", 32_768, 37.7, 18.1),
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
    Row("llama-2-7b", 16_384, 44.9, 1.3),
    Row("pythia-6.9b", 16_384, 42.8, 6.3),
    Row("stablelm-3b", 32_768, 34.0, 0.2),
    Row("command-r", 32_768, 26.3, 16.8),
    Row("gemma-2b", 6_000, 2.2, 1.7),
    Row("gemma-2b", 32_768, 19.9, 2.1),
)
"""The third run of LLaMA 3.1 had a static cache, which is made layer by layer, whole."""

UNEVEN = (
    Row("deepseek-v2-lite", 6_000, 46.6, 6.3),
    Row("deepseek-v2-lite", 32_768, 43.6, 6.8),
    Row("falcon-7b", 6_000, 2.7, 2.7),
    Row("falcon-7b", 4_096, 0.2, 0.4),
    Row("falcon-7b", 32_768, 30.6, 0.1),
    Row("gemma-2-9b", 32_768, 24.0, 19.7),
    Row("gemma-2-9b", 131_072, 48.8, 19.8),
    Row("gpt-oss-20b", 131_072, 32.5, 0.1),
)
"""Latent attention, and scores of all tokens in memory: tensors of very different sizes."""

SHARES = {
    ("fixed", True): Share(1, 17, 46, EVEN),
    ("expandable", True): Share(0, 5, 19, EVEN),
    ("fixed", False): Share(0, 20, 50, UNEVEN),
    ("expandable", False): Share(0, 5, 21, UNEVEN),
}
"""By the allocator's segments, and whether tensors are of even sizes."""
