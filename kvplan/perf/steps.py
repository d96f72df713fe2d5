"""How long a pass takes: reading weights or multiplying, whichever is longer, then attention, launches, what ranks tell each other."""

from math import log2
from typing import NamedTuple

from kvplan.perf.efficiency import REREAD, SCORE_PASSES_BYTES, Efficiency
from kvplan.perf.values import Growth, Machine, Traffic


class Seconds(NamedTuple):
    """What a pass spends: while weights are read they are multiplied, the rest comes after."""

    reading: float
    multiplying: float
    attending: float
    waiting: float
    linking: float

    @property
    def total(self) -> float:
        """All of it."""
        return max(self.reading, self.multiplying) + self.attending + self.waiting + self.linking


def touched(traffic: Traffic, n_tokens: float) -> float:
    """The share of E experts that a pass of ``n_tokens`` visits if tokens choose evenly: 1 − (1 − k/E)^n."""
    return 1.0 - float((1.0 - traffic.n_active / traffic.n_experts) ** n_tokens) if traffic.n_experts else 0.0


def moved_bytes(traffic: Traffic, n_tokens: float) -> float:
    """Bytes of weights that a pass of ``n_tokens`` reads, and of those that it writes out first."""
    written_out = traffic.unpacked_bytes if n_tokens > 1 else 0.0
    return traffic.dense_bytes + touched(traffic, n_tokens) * traffic.expert_bytes + written_out


def reading_s(traffic: Traffic, machine: Machine, eff: Efficiency, n_tokens: float) -> float:
    """Seconds to read the weights of a pass, and to unpack those that are stored in blocks."""
    packed = traffic.dense_packed + touched(traffic, n_tokens) * traffic.expert_packed
    return moved_bytes(traffic, n_tokens) / (machine.bandwidth * eff.mbu) + packed * eff.unpack / machine.flops


def multiplying_s(traffic: Traffic, machine: Machine, eff: Efficiency, n_tokens: float, rows: float) -> float:
    """Seconds of the products of ``n_tokens`` with the weights, and of ``rows`` rows of logits."""
    flops = n_tokens * (traffic.token_flops + traffic.expert_flops / eff.expert_mfu) + rows * traffic.row_flops
    return flops / product_rate(machine, eff)


def product_rate(machine: Machine, eff: Efficiency) -> float:
    """Products per second that are reached with the weights' type; of each doubling of the 16-bit peak only a part."""
    if machine.product_flops == machine.flops:
        return machine.flops * eff.mfu
    doublings = log2(machine.product_flops / machine.flops)
    return machine.product_flops * eff.mfu * float(eff.narrow**doublings)


class Step(NamedTuple):
    """A step of ``batch`` sequences that are ``ctx_tokens`` long."""

    batch: float
    ctx_tokens: float
    eager_scores: bool = False


def cache_bytes(growth: tuple[Growth, ...], ctx_tokens: float, reread: float = 0.0) -> float:
    """Bytes of one sequence's keys and values that a step reads after ``ctx_tokens``; eager attention reads shared ones again."""
    return sum(group.bytes_per_token * (1 + reread * (group.sharing - 1)) * _seen(group, ctx_tokens) for group in growth)


def decode(traffic: Traffic, machine: Machine, eff: Efficiency, step: Step) -> Seconds:
    """A step in which each sequence gets a token."""
    reading = reading_s(traffic, machine, eff, step.batch)
    multiplying = multiplying_s(traffic, machine, eff, step.batch, step.batch)
    kept = cache_bytes(traffic.growth, step.ctx_tokens, REREAD if step.eager_scores else 0.0) + 2 * traffic.state_bytes
    attending = step.batch * kept / (machine.bandwidth * eff.mbu)
    linking = linking_s(traffic, machine, eff, step.batch)
    return Seconds(reading, multiplying, attending, waiting_s(traffic, eff), linking)


class Prompts(NamedTuple):
    """``n_prompts`` prompts side by side, from their token ``start`` to their token ``end``, in ``n_parts`` passes."""

    start: float
    end: float
    n_prompts: float = 1
    n_parts: int = 1
    eager_scores: bool = False


def prefill(traffic: Traffic, machine: Machine, eff: Efficiency, prompts: Prompts) -> Seconds:
    """All passes over these prompts; each reads the weights again."""
    n, n_tokens = prompts.n_parts, prompts.n_prompts * (prompts.end - prompts.start)
    pairs = [(group, n_tokens * _mean_seen(group, prompts.start, prompts.end)) for group in traffic.growth]
    scoring = sum(group.pair_flops * seen for group, seen in pairs) / (machine.flops * eff.mfu)
    if prompts.eager_scores:
        scoring += SCORE_PASSES_BYTES * sum(group.heads * seen for group, seen in pairs) / (machine.bandwidth * eff.mbu)
    return Seconds(
        reading=n * reading_s(traffic, machine, eff, n_tokens / n),
        multiplying=multiplying_s(traffic, machine, eff, n_tokens, prompts.n_prompts),
        attending=scoring,
        waiting=n * waiting_s(traffic, eff),
        linking=n * linking_s(traffic, machine, eff, n_tokens / n),
    )


def prefill_flops(traffic: Traffic, start: float, end: float) -> float:
    """Operations of one prompt from its token ``start`` to its token ``end``: products with the weights, and attention; no logits."""
    n_tokens = end - start
    attending = sum(group.pair_flops * _mean_seen(group, start, end) for group in traffic.growth)
    return n_tokens * (traffic.token_flops + traffic.expert_flops + attending)


def waiting_s(traffic: Traffic, eff: Efficiency) -> float:
    """Seconds that a pass takes whatever it reads: launches, the sampler, the scheduler."""
    return eff.step_s + traffic.n_layers * eff.layer_s + traffic.n_moe_layers * eff.expert_layer_s


def linking_s(traffic: Traffic, machine: Machine, eff: Efficiency, n_tokens: float) -> float:
    """Seconds of two all-reduces a layer where ranks share it: in a ring each card sends its rows 2·(n − 1)/n times."""
    if machine.tp == 1:
        return 0.0
    sent = 2.0 * (machine.tp - 1) / machine.tp * n_tokens * traffic.hidden_bytes
    return 2 * traffic.n_layers * (eff.link_s + sent / (machine.link_bandwidth / 2 * eff.link))


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
