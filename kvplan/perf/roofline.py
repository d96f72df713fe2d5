"""From what a model moves and a machine gives to the time of prompts and answers."""

from math import ceil, inf

from kvplan.perf.efficiency import Efficiency, efficiency
from kvplan.perf.steps import Part, Step, decode_s, multiplying_s, prefill_s, reading_s
from kvplan.perf.values import Demand, Machine, Performance, Range, Traffic


def performance(traffic: Traffic, machine: Machine, demand: Demand, engine: str) -> Performance:
    """TTFT, TPOT and rates of ``demand`` on engines of the class ``engine`` (``compiled``, ``served``, ``ggml``, ``eager``)."""
    eff = efficiency(engine, machine.memory)
    step = decode_step_s(traffic, machine, eff, demand)
    first = first_token_s(traffic, machine, eff, demand)
    prompts = prompts_s(traffic, machine, eff, demand, demand.batch)
    request = (prompts + (demand.output_tokens - 1) * step) / demand.batch
    return Performance(
        ttft_s=_time(first, eff.spread),
        tpot_s=_time(step, eff.spread),
        decode_tokens_per_s=_rate(machine.dp * demand.batch / step, eff.spread),
        requests_per_s=_rate(machine.dp / request, eff.spread),
        batch=demand.batch,
        crossover=crossover(traffic, machine, eff),
    )


def decode_step_s(traffic: Traffic, machine: Machine, eff: Efficiency, demand: Demand) -> float:
    """Seconds from one token to the next at the batch's mean length; of pipeline stages each works on a part of the batch."""
    ctx_tokens = demand.prompt_tokens + demand.output_tokens / 2
    at_once = demand.batch / min(machine.pp, demand.batch) if eff.pipelines else demand.batch
    return decode_s(traffic, machine, eff, Step(at_once, ctx_tokens, demand.eager_scores))


def first_token_s(traffic: Traffic, machine: Machine, eff: Efficiency, demand: Demand) -> float:
    """Seconds until one prompt is read that comes alone; until all are, where they go ``together``."""
    return eff.request_s + prompts_s(traffic, machine, eff, demand, demand.batch if demand.together else 1)


def prompts_s(traffic: Traffic, machine: Machine, eff: Efficiency, demand: Demand, n_prompts: int) -> float:
    """Seconds until ``n_prompts`` are read: several short ones in a pass, a long one in passes of at most ``chunk_tokens``."""
    fresh = max(1, demand.prompt_tokens - demand.cached_tokens)
    start = demand.prompt_tokens - fresh
    at_once = n_prompts if demand.together else min(n_prompts, max(1, demand.chunk_tokens // fresh))
    n_parts = 1 if demand.together else ceil(fresh / demand.chunk_tokens)
    width, seconds = fresh / n_parts, 0.0
    for i in range(n_parts):
        part = Part(start + i * width, start + (i + 1) * width, at_once, at_once / n_parts, demand.eager_scores)
        seconds += prefill_s(traffic, machine, eff, part)
    n_turns = n_prompts / at_once
    return seconds * n_turns / overlap(machine.pp, n_parts * n_turns, eff)


def overlap(pp: int, n_passes: float, eff: Efficiency) -> float:
    """How much faster stages are that work on passes after each other: m passes through p stages take m + p − 1 turns of m·p."""
    at_once = min(n_passes, eff.in_flight)
    ideal = at_once * pp / (at_once + pp - 1)
    return 1 + eff.overlap * (ideal - 1)


def crossover(traffic: Traffic, machine: Machine, eff: Efficiency) -> float:
    """Sequences from which on a step multiplies longer than it reads weights, all experts touched."""
    return reading_s(traffic, machine, eff, inf) / multiplying_s(machine, eff, traffic.token_flops + traffic.row_flops)


def _time(best: float, spread: float) -> Range:
    return Range(best / spread, best, best * spread)


def _rate(best: float, spread: float) -> Range:
    return Range(best / spread, best, best * spread)
