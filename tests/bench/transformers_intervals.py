"""How wide Transformers' estimates are: high/low of the total of a GPU, over models, contexts, batches and GPUs that they fit.

usage: python -m tests.bench.transformers_intervals

Bar: a median of at most 1.10 with either kind of segments.
"""

import statistics
import sys
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from kvplan.estimator import Estimate, Options, answer

MODELS = (
    "llama-3.2-1b", "gemma-2b", "llama-3.2-3b", "phi-4-mini", "llama-2-7b", "mistral-7b-v0.1", "llama-3.1-8b", "qwen3-8b", "falcon-7b",
    "gpt-j-6b", "gemma-2-9b", "gemma-3-12b", "llama-2-13b", "phi-4", "qwen2.5-14b", "deepseek-v2-lite", "gpt-oss-20b", "qwen3-30b-a3b",
    "qwen2.5-32b", "falcon-40b", "mixtral-8x7b", "llama-3-70b",
)  # fmt: skip
GPUS = ("rtx-3090", "rtx-4090", "rtx-5090", "l40s", "a100-80", "h100-sxm", "h200", "b200")
CONTEXTS, BATCHES = (1024, 4096, 8192, 32768), (1, 4, 8)
FILLED = ((0.0, 0.1), (0.1, 0.25), (0.25, 0.5), (0.5, 1.0))
TERMS = ("activations", "runtime_context", "allocator")


class Width(NamedTuple):
    """One estimate that fits: its GPU, the share of it that is filled, high/low of its total, and of each uncertain part high - low as a
    share of the total."""

    gpu: str
    filled: float
    ratio: float
    shares: dict[str, float]


def widths(segments: str) -> Iterator[Width]:
    """Estimates whose best guess fits the card."""
    for model, gpu, ctx, batch in product(MODELS, GPUS, CONTEXTS, BATCHES):
        command = ("transformers", model, f"expandable_segments={segments}")
        found = answer(Options(command=command, gpu=gpu, ctx=str(ctx), batch=str(batch)), elsewhere=False)
        low, best, high = found.needed
        filled = best / (found.fullest.usable_bytes or best)
        if not found.refusals and filled <= 1:
            yield Width(gpu, filled, high / low, _shares(found, best))


def _shares(found: Estimate, total: int) -> dict[str, float]:
    return {term: sum((entry.size.high - entry.size.low) / total for entry in found.entries if entry.term == term) for term in TERMS}


def main() -> None:
    """Print medians: of all, by how much of a card they fill, of each GPU, of each uncertain part."""
    for segments in ("False", "True"):
        found = list(widths(segments))
        ratios = sorted(width.ratio for width in found)
        p90 = ratios[len(ratios) * 9 // 10]
        sys.stdout.write(f"expandable_segments={segments}: {len(found)} estimates, high/low median {statistics.median(ratios):.3f}, ")
        sys.stdout.write(f"90th percentile {p90:.3f}, most {ratios[-1]:.3f}\n")
        for least, most in FILLED:
            some = [width.ratio for width in found if least <= width.filled <= most]
            sys.stdout.write(f"  {least:.0%} to {most:.0%} of the card filled {len(some):4} {statistics.median(some):.3f}\n")
        for gpu in GPUS:
            mine = [width for width in found if width.gpu == gpu]
            parts = ", ".join(f"{term} {statistics.median(width.shares[term] for width in mine):.1%}" for term in TERMS)
            sys.stdout.write(f"  {gpu:9} {len(mine):4} {statistics.median(width.ratio for width in mine):.3f}  high - low: {parts}\n")


if __name__ == "__main__":
    main()
