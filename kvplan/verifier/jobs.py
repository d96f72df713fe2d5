"""The published measurements: ``python -m kvplan.verifier.jobs > reports/jobs.jsonl`` writes what ``reports/measure.sh`` runs.

The jobs carry their configs, because the machine that measures has no YAML and no built-in models. A test keeps the file true.
"""

import json
import sys
from collections.abc import Iterator

from kvplan.specs import load_model
from kvplan.verifier.configs import config_of
from kvplan.verifier.record import Job
from kvplan.verifier.task import Task, as_line

DECODE_STEPS = 16  # enough for the rate, and for the tenths of positions to differ where they do
TOKENS_WITHOUT_CACHE = 256

# (model, context, batch), what tells most first: grouped queries, windows in all layers and in five of six, experts, latent
# attention, each on a small GPU, too.
FIRST: tuple[tuple[str, int, int], ...] = (
    ("llama-3.1-8b", 4096, 8),
    ("mistral-7b-v0.1", 8192, 2),
    ("gemma-3-1b", 4096, 4),
    ("olmoe-1b-7b", 2048, 4),
    ("deepseek-v2-lite", 4096, 2),
    ("qwen3-30b-a3b", 4096, 4),
    ("llama-3.2-1b", 4096, 1),
)

# (model, context) whose largest batch is looked for; small models, whose runs are short.
BOUNDARIES: tuple[tuple[str, int], ...] = (("llama-3.2-1b", 8192), ("gemma-3-1b", 8192))

# With a cache and without.
PAIRED = "llama-2-7b"

# Contexts × batches of one model, then single points: multi-head attention, biases, norms of queries and keys, long contexts.
GRID: tuple[str, tuple[int, ...], tuple[int, ...]] = ("llama-3.1-8b", (1024, 4096, 16384), (1, 8))
LAST: tuple[tuple[str, int, int], ...] = (
    ("llama-2-7b", 4096, 8),
    ("qwen2.5-7b", 4096, 8),
    ("gemma-3-12b", 16384, 1),
    ("qwen3-8b", 32768, 1),
    ("llama-3.2-1b", 65536, 1),
    ("llama-2-7b", 4096, 1),
)


def tasks() -> list[Task]:
    """What is measured, in this order, each job in its model's stored type."""
    return [*map(_timed, FIRST), *map(_boundary, BOUNDARIES), *_pair(), *map(_timed, _rest())]


def _rest() -> Iterator[tuple[str, int, int]]:
    model_id, contexts, batches = GRID
    yield from ((model_id, ctx, batch) for ctx in contexts for batch in batches if (model_id, ctx, batch) not in FIRST)
    yield from LAST


def _timed(point: tuple[str, int, int]) -> Task:
    return Task(_job(*point, n_steps=DECODE_STEPS)._replace(n_repeats=2))


def _boundary(point: tuple[str, int]) -> Task:
    model_id, ctx = point
    return Task(_job(model_id, ctx, 1, n_steps=1), finds_batch=True)


def _pair() -> Iterator[Task]:
    n_prompt = 16
    job = _job(PAIRED, TOKENS_WITHOUT_CACHE, 1, n_steps=TOKENS_WITHOUT_CACHE - n_prompt)._replace(n_repeats=1)
    yield from (Task(job._replace(use_cache=use_cache)) for use_cache in (True, False))


def _job(model_id: str, ctx: int, batch: int, *, n_steps: int) -> Job:
    stored = load_model(model_id).stored_dtype
    return Job(model_id, config_of(model_id), stored, ctx, batch, ctx - n_steps)


def text() -> str:
    """The file: one task a line."""
    return "".join(json.dumps(as_line(task), separators=(",", ":")) + "\n" for task in tasks())


if __name__ == "__main__":
    sys.stdout.write(text())
