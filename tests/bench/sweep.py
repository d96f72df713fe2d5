"""Points per second of a sweep on one core, by engine: contexts times batches, the table rendered.

usage: python -m tests.bench.sweep [COUNT]
"""

import sys
import time
from math import isqrt

from kvplan.estimator.sweep import axes, points
from kvplan.render import sweep

BAR = 5000  # 100,000 points in 20 s

ASKED: tuple[dict[str, str], ...] = (
    {"model": "llama-2-7b", "gpu": "h100-sxm"},
    {"model": "gemma-3-12b", "engine": "transformers", "gpu": "rtx-4090"},
    {"model": "qwen3-8b", "engine": "vllm", "gpu": "h100-sxm"},
    {"model": "gemma-3-12b", "engine": "vllm@0.19", "gpu": "l40s"},
    {"model": "deepseek-v3", "engine": "vllm", "gpu": "h200:8"},
    {"model": "qwen3-8b", "engine": "llama.cpp", "gpu": "h100-sxm"},
    {"model": "qwen3-8b", "engine": "llama.cpp", "gpu": "rtx-4090"},
    {"model": "gemma-3-12b", "engine": "llama.cpp", "gpu": "rtx-4090"},
    {"model": "qwen3-30b-a3b", "engine": "ollama", "gpu": "rtx-4090+rtx-4090"},
)


def seconds(asked: dict[str, str], n_ctx: int, n_batches: int) -> float:
    """The processor's time for a grid, each line made and thrown away."""
    contexts = tuple(str(1024 + 64 * i) for i in range(n_ctx))
    batches = tuple(str(1 + i) for i in range(n_batches))
    varied = axes({**{name: (value,) for name, value in asked.items()}, "ctx": contexts, "batch": batches})
    start = time.process_time()
    for _ in sweep.text(varied, points(varied), columns=80):
        pass
    return time.process_time() - start


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    sys.stdout.write(f"points/s, bar {BAR:,}:    as many contexts as batches    contexts alone\n")
    for asked in ASKED:
        side = isqrt(count)
        grid, line = side * side / seconds(asked, side, side), count / seconds(asked, count, 1)
        sys.stdout.write(f"{' '.join(asked.values()):<48}{grid:>10,.0f}{line:>18,.0f}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
