"""How long a pass takes: reading weights or multiplying, whichever is longer, then attention, launches, what ranks tell each other."""

from typing import NamedTuple

from kvplan.perf.efficiency import REREAD, SCORE_PASSES_BYTES, Efficiency
from kvplan.perf.values import Growth, Machine, Traffic


def reading_s(traffic: Traffic, machine: Machine, eff: Efficiency, n_tokens: float) -> float:
    """Seconds to read the weights of a pass, and to unpack those that are stored in blocks."""
    share = 1.0 - (1.0 - traffic.n_active / traffic.n_experts) ** n_tokens if traffic.n_experts else 0.0
    n_bytes = traffic.dense_bytes + share * traffic.expert_bytes
    packed = traffic.dense_packed + share * traffic.expert_packed
    return n_bytes / (machine.bandwidth * eff.mbu) + packed * eff.unpack / machine.flops


def multiplying_s(machine: Machine, eff: Efficiency, flops: float) -> float:
    """Seconds of the products."""
    return flops / (machine.flops * eff.mfu * eff.narrow**machine.narrow)


class Step(NamedTuple):
    """A step of ``batch`` sequences that are ``ctx_tokens`` long."""

    batch: float
    ctx_tokens: float
    eager_scores: bool = False


def cache_bytes(growth: tuple[Growth, ...], ctx_tokens: float, reread: float = 0.0) -> float:
    """Bytes of one sequence's keys and values that a step reads after ``ctx_tokens``; eager attention reads shared ones again."""
    return sum(group.bytes_per_token * (1 + reread * (group.sharing - 1)) * _seen(group, ctx_tokens) for group in growth)


def decode_s(traffic: Traffic, machine: Machine, eff: Efficiency, step: Step) -> float:
    """Seconds of a step in which each sequence gets a token."""
    reading = reading_s(traffic, machine, eff, step.batch)
    multiplying = multiplying_s(machine, eff, step.batch * (traffic.token_flops + traffic.row_flops))
    kept = cache_bytes(traffic.growth, step.ctx_tokens, REREAD if step.eager_scores else 0.0) + 2 * traffic.state_bytes
    attending = step.batch * kept / (machine.bandwidth * eff.mbu)
    return max(reading, multiplying) + attending + fixed_s(traffic, machine, eff, step.batch)


class Part(NamedTuple):
    """One pass over ``n_prompts`` prompts at once, from their token ``start`` to their token ``end``, with ``rows`` rows of logits."""

    start: float
    end: float
    n_prompts: float = 1
    rows: float = 1
    eager_scores: bool = False


def prefill_s(traffic: Traffic, machine: Machine, eff: Efficiency, part: Part) -> float:
    """Seconds of one pass over a part of one prompt or more."""
    n_tokens = part.n_prompts * (part.end - part.start)
    reading = reading_s(traffic, machine, eff, n_tokens)
    multiplying = multiplying_s(machine, eff, n_tokens * traffic.token_flops + part.rows * traffic.row_flops)
    pairs = [(group, n_tokens * _mean_seen(group, part.start, part.end)) for group in traffic.growth]
    scoring = multiplying_s(machine, eff, sum(group.pair_flops * n for group, n in pairs))
    if part.eager_scores:
        scoring += SCORE_PASSES_BYTES * sum(group.heads * n for group, n in pairs) / (machine.bandwidth * eff.mbu)
    return max(reading, multiplying) + scoring + fixed_s(traffic, machine, eff, n_tokens)


def fixed_s(traffic: Traffic, machine: Machine, eff: Efficiency, n_tokens: float) -> float:
    """Seconds that a pass takes whatever it reads: launches, sampling, and two all-reduces a layer where ranks share it."""
    alone = eff.step_s + traffic.n_layers * eff.layer_s + traffic.n_moe_layers * eff.expert_layer_s
    if machine.tp == 1:
        return alone
    ring = 2.0 * (machine.tp - 1) / machine.tp * n_tokens * traffic.hidden_bytes / (machine.link_bandwidth / 2 * eff.link)
    return alone + 2 * traffic.n_layers * (eff.link_s + ring)


def _seen(group: Growth, ctx_tokens: float) -> float:
    return ctx_tokens if group.window_tokens is None else min(ctx_tokens, group.window_tokens)


def _mean_seen(group: Growth, start: float, end: float) -> float:
    """Tokens that a query between ``start`` and ``end`` sees on average, itself included."""
    window = group.window_tokens
    if window is None or end <= window:
        return (start + end) / 2
    if start >= window:
        return window
    below = (window - start) / (end - start)
    return below * (start + window) / 2 + (1 - below) * window
