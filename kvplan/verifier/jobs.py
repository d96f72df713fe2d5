"""The published measurements: ``python -m kvplan.verifier.jobs > reports/jobs.jsonl`` writes what ``reports/measure.sh`` runs.

The jobs carry their configs, because the machine that measures has no YAML and no built-in models. A test keeps the file true.
"""

import json
import sys

from kvplan.specs import load_model
from kvplan.verifier.configs import config_of
from kvplan.verifier.record import Job

DECODE_STEPS = 8

# (model, its (context, batch) points): multi-head, grouped-query with and without biases and norms, windows in all layers and in
# five of six, latent attention, experts; contexts short of a window and beyond it; all within 80 GB.
POINTS: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = (
    ("llama-2-7b", ((512, 1), (4096, 1), (4096, 8))),
    ("llama-3.1-8b", ((8192, 8),)),
    ("llama-3.2-1b", ((65536, 1),)),
    ("qwen2.5-7b", ((4096, 8),)),
    ("qwen3-8b", ((4096, 8), (32768, 1))),
    ("mistral-7b-v0.1", ((8192, 2),)),
    ("gemma-3-12b", ((4096, 4), (16384, 1))),
    ("deepseek-v2-lite", ((4096, 2),)),
    ("qwen3-30b-a3b", ((4096, 4),)),
)


def jobs() -> list[Job]:
    """One job for each point, in the model's stored type."""
    return [
        Job(
            id=model_id,
            config=config_of(model_id),
            dtype=load_model(model_id).stored_dtype,
            ctx_tokens=ctx,
            batch=batch,
            prompt_tokens=ctx - DECODE_STEPS,
        )
        for model_id, points in POINTS
        for ctx, batch in points
    ]


def text() -> str:
    """The file: one job a line."""
    return "".join(json.dumps(job._asdict(), separators=(",", ":")) + "\n" for job in jobs())


if __name__ == "__main__":
    sys.stdout.write(text())
