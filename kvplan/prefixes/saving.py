"""What reuse saves: operations by the model's layers, seconds to the first token by the roofline."""

from collections import Counter
from typing import NamedTuple

from kvplan import perf
from kvplan.estimator import Estimate
from kvplan.perf import Question, Range
from kvplan.perf.steps import prefill_flops
from kvplan.perf.traffic import Shape, traffic

_FINE = 256  # tokens computed, up to which each number is timed; above in steps of 16, and what was found in steps of 64
_SLOW = 0.95


class Times(NamedTuple):
    """Seconds to the first token, with nobody waiting in front: the mean with its bounds, and what one request in twenty exceeds."""

    mean: Range
    p95: float


class Savings(NamedTuple):
    """Operations of all prompts and of the part that was found; None without a model. Times without reuse and with it."""

    flops: float | None
    saved_flops: float | None
    without: Times | None
    within: Times | None


def savings(pairs: Counter[tuple[int, int]], found: Estimate | None) -> Savings:
    """What these (prompt tokens, tokens found) come to on this model and card."""
    if found is None:
        return Savings(None, None, None, None)
    moved = traffic(found.model, Shape(found.model.stored_dtype))
    flops = saved = 0.0
    for (n_prompt, n_hit), count in pairs.items():
        flops += count * prefill_flops(moved, 0, n_prompt)
        saved += count * prefill_flops(moved, 0, n_hit)
    if found.performance is None or not pairs:
        return Savings(flops, saved, None, None)
    question = found.performance.of
    without = Counter[tuple[int, int]]()
    within = Counter[tuple[int, int]]()
    for (n_prompt, n_hit), count in pairs.items():
        within[_grained(n_prompt, n_hit)] += count
        without[_grained(n_prompt, 0)] += count
    return Savings(flops, saved, _times(question, without), _times(question, within))


def first_token(question: Question, n_prompt: int, n_hit: int) -> Range:
    """Seconds until the first token of a prompt of which the first ``n_hit`` tokens are there."""
    demand = question.demand._replace(batch=1, prompt_tokens=n_prompt, cached_tokens=min(n_hit, n_prompt - 1))
    return perf.performance(question.traffic, question.machine, demand, question.engine).ttft_s


def _grained(n_prompt: int, n_hit: int) -> tuple[int, int]:
    """Nearly the same prompt and hit: a log has many that differ by what moves a mean less than its digits."""
    fresh, found = n_prompt - n_hit, n_hit // 64 * 64
    return found + (fresh if fresh < _FINE else fresh // 16 * 16), found


def _times(question: Question, pairs: Counter[tuple[int, int]]) -> Times:
    timed = [(first_token(question, n_prompt, n_hit), count) for (n_prompt, n_hit), count in pairs.items()]
    n = sum(count for _, count in timed)
    low, best, high = (sum(found[i] * count for found, count in timed) / n for i in range(3))
    slowest = iter(sorted(timed, key=lambda one: -one[0].best))
    found, count = next(slowest)
    above = count
    while above <= (1 - _SLOW) * n:
        found, count = next(slowest)
        above += count
    return Times(Range(low, best, high), found.best)
