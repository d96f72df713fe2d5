"""The arithmetic of decoding with a cache and without, as ``--explain`` shows it."""

from kvplan.core.units import format_size
from kvplan.estimator.answer import Estimate
from kvplan.perf.reuse import Generation, Work
from kvplan.perf.traffic import Shape, traffic
from kvplan.render.table import aligned

_UNITS = ("", "K", "M", "G", "T", "P", "E", "Z")
_HEAD = ("", "products with weights", "attention", "together")


def explanation(answer: Estimate) -> str:
    """Operations of the last step and of all, how they grow with the length, and what the cache costs; nothing of a model without one,
    that attends to an encoder's output, or that writes nothing after the prompt."""
    load, moved = answer.workload, traffic(answer.model, Shape(answer.model.stored_dtype))
    listens = any(mixer.kind == "cross" for run in answer.model.runs for mixer in run.layer.mixers)
    if not moved.growth or listens or load.ctx_tokens < _SHORTEST or not load.decode_steps:
        return ""
    now = Generation(moved, load.prompt_tokens, load.ctx_tokens)
    half = Generation(moved, load.prompt_tokens // 2, load.ctx_tokens // 2)
    rows = [
        _HEAD,
        *(_row(f"last step, {name}", now.last_step(cached=cached), half.last_step(cached=cached)) for name, cached in _WAYS),
        *(_row(f"all of them, {name}", now.whole(cached=cached), half.whole(cached=cached)) for name, cached in _WAYS),
    ]
    times = now.last_step(cached=False).total / now.last_step(cached=True).total
    return "\n".join(
        (
            "with a cache and without (operations; in brackets, how many times those at half the length)",
            *(f"  {line}" for line in aligned(rows, left=frozenset({0}))),
            f"  prompt {load.prompt_tokens:,}, then {load.decode_steps:,} written; the last step is {times:,.0f} times as much without",
            f"  the cache that saves this takes {format_size(answer.kv.ideal_bytes)}; states between tokens are not in these numbers",
        )
    )


_SHORTEST = 4  # below, half of it is no length to compare with
_WAYS = (("cached", True), ("without", False))


def _row(name: str, work: Work, half: Work) -> tuple[str, ...]:
    pairs = ((work.weights, half.weights), (work.attention, half.attention), (work.total, half.total))
    return name, *(f"{_count(now)} ({now / before:.1f} ×)" for now, before in pairs)


def _count(n: float) -> str:
    """Three digits and a prefix of powers of 1,000."""
    power = 0
    while n >= 999.5 and power < len(_UNITS) - 1:
        n, power = n / 1000, power + 1
    return f"{n:.3g} {_UNITS[power]}FLOP"
