"""How fast a run was: the statistics of its passes; the standard library alone, like the record that holds them."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

N_PARTS = 10


class Spread(NamedTuple):
    """Seconds: the median, the 95th of a hundred, the least and the most; each a value that was measured (nearest rank)."""

    p50: float
    p95: float
    min: float
    max: float


class Timings(NamedTuple):
    """The timed passes of a run: ``n_repeats`` times a prefill and ``n_steps`` decode steps, after ``n_warmup`` passes nobody timed.

    ``ttft_s`` is the time of the prefill, after which the first token is known, over repeats; ``tpot_s`` the time of a decode step,
    which gives one token to every sequence, over all steps of all repeats. ``tpot_by_decile_s`` is its mean in each
    tenth of the positions, first to last (fewer parts where there are fewer steps): what grows with the context, or jitters late,
    shows there. ``decode_tokens_per_s`` counts those of all sequences: the median of the repeats, their least and their most. What
    speaks of decode steps is None, or empty, where the job has none. ``build_s`` is how long the model took to make or load.
    """

    ttft_s: Spread
    tpot_s: Spread | None
    tpot_by_decile_s: tuple[float, ...]
    decode_tokens_per_s: float | None
    decode_tokens_per_s_min: float | None
    decode_tokens_per_s_max: float | None
    n_steps: int
    n_warmup: int
    n_repeats: int
    build_s: float


class Pass(NamedTuple):
    """One timed pass: seconds of its prefill, and of each decode step in order."""

    prefill_s: float
    steps_s: tuple[float, ...]


def summary(passes: Sequence[Pass], *, batch: int, n_warmup: int, build_s: float) -> Timings:
    """The statistics of at least one pass; all passes have as many steps."""
    n_steps = len(passes[0].steps_s)
    steps = [second for one in passes for second in one.steps_s]
    rates = spread([batch * n_steps / sum(one.steps_s) for one in passes]) if n_steps else None
    return Timings(
        ttft_s=spread([one.prefill_s for one in passes]),
        tpot_s=spread(steps) if n_steps else None,
        tpot_by_decile_s=_by_decile(passes, n_steps),
        decode_tokens_per_s=rates and rates.p50,
        decode_tokens_per_s_min=rates and rates.min,
        decode_tokens_per_s_max=rates and rates.max,
        n_steps=n_steps,
        n_warmup=n_warmup,
        n_repeats=len(passes),
        build_s=build_s,
    )


def spread(values: Sequence[float]) -> Spread:
    """The spread of at least one value."""
    ranked = sorted(values)
    return Spread(_rank(ranked, 50), _rank(ranked, 95), ranked[0], ranked[-1])


def _rank(ranked: Sequence[float], percent: int) -> float:
    return ranked[ceil(len(ranked) * percent / 100) - 1]


def _by_decile(passes: Sequence[Pass], n_steps: int) -> tuple[float, ...]:
    n_parts = min(N_PARTS, n_steps)
    edges = [n_steps * part // n_parts for part in range(n_parts + 1)] if n_parts else [0]
    parts = [[second for one in passes for second in one.steps_s[low:high]] for low, high in pairwise(edges)]
    return tuple(sum(part) / len(part) for part in parts)


def from_json(data: dict[str, Any]) -> Timings:
    """The timings that a record holds. Raises KeyError or TypeError for anything else."""
    spreads = {key: Spread(**data[key]) for key in ("ttft_s", "tpot_s") if data[key] is not None}
    return Timings(**{**data, **spreads, "tpot_by_decile_s": tuple(data["tpot_by_decile_s"])})
