"""From what a model moves and a machine gives to the time of prompts and answers."""

from math import inf

from kvplan.perf.efficiency import APART, Efficiency, efficiency
from kvplan.perf.steps import Prompts, Seconds, Step, decode, multiplying_s, prefill, reading_s
from kvplan.perf.values import Demand, Machine, Performance, Question, Range, Traffic


def performance(traffic: Traffic, machine: Machine, demand: Demand, engine: str) -> Performance:
    """TTFT, TPOT and rates of ``demand`` on engines of the class ``engine`` (``compiled``, ``served``, ``ggml``, ``eager``)."""
    eff = efficiency(engine, machine.memory)
    spread = _spread(eff, machine)
    step = decode_step(traffic, machine, eff, demand).total
    first = prompts_s(traffic, machine, eff, demand, demand.batch if demand.together else 1)
    prompts = first if demand.together or demand.batch == 1 else prompts_s(traffic, machine, eff, demand, demand.batch)
    request = (prompts + (demand.output_tokens - 1) * step) / demand.batch
    return Performance(
        ttft_s=_around(eff.request_s + first, spread),
        tpot_s=_around(step, spread),
        decode_tokens_per_s=_around(machine.dp * demand.batch / step, spread),
        requests_per_s=_around(machine.dp / request, spread),
        of=Question(traffic, machine, demand, engine),
    )


def rate(traffic: Traffic, machine: Machine, demand: Demand, engine: str) -> Range:
    """Tokens per second over all sequences and replicas, as ``performance`` has them."""
    eff = efficiency(engine, machine.memory)
    return _around(machine.dp * demand.batch / decode_step(traffic, machine, eff, demand).total, _spread(eff, machine))


def _spread(eff: Efficiency, machine: Machine) -> float:
    return eff.spread if machine.tp * machine.pp == 1 else eff.spread * APART


def decode_step(traffic: Traffic, machine: Machine, eff: Efficiency, demand: Demand) -> Seconds:
    """From one token to the next at the batch's mean length; of pipeline stages each works on a part of the batch."""
    ctx_tokens = demand.prompt_tokens + demand.output_tokens / 2
    at_once = demand.batch / min(machine.pp, demand.batch) if eff.pipelines else demand.batch
    return decode(traffic, machine, eff, Step(at_once, ctx_tokens, demand.eager_scores))


def prompts_s(traffic: Traffic, machine: Machine, eff: Efficiency, demand: Demand, n_prompts: int) -> float:
    """Seconds until ``n_prompts`` are read, where stages work on passes after each other with what they gain by that."""
    side_by_side = packed(demand, n_prompts)
    n_turns = n_prompts / side_by_side.n_prompts
    gained = overlap(machine.pp, side_by_side.n_parts * n_turns, eff)
    return prefill(traffic, machine, eff, side_by_side).total * n_turns / gained


def packed(demand: Demand, n_prompts: int) -> Prompts:
    """The prompts of one turn: several short ones in a pass, a long one in passes of at most ``chunk_tokens``."""
    fresh = max(1, demand.prompt_tokens - demand.cached_tokens)
    start = demand.prompt_tokens - fresh
    if demand.together:
        return Prompts(start, demand.prompt_tokens, n_prompts, 1, demand.eager_scores)
    at_once = min(n_prompts, max(1, demand.chunk_tokens // fresh))
    return Prompts(start, demand.prompt_tokens, at_once, -(-fresh // demand.chunk_tokens), demand.eager_scores)


def overlap(pp: int, n_passes: float, eff: Efficiency) -> float:
    """How much faster stages are that work on passes after each other: m passes through p stages take m + p − 1 turns of m·p."""
    at_once = min(n_passes, eff.in_flight)
    ideal = at_once * pp / (at_once + pp - 1)
    return 1 + eff.overlap * (ideal - 1)


def crossover(found: Question) -> float:
    """Sequences at once from which on a step multiplies longer than it reads weights, all experts touched."""
    traffic, machine, eff = found.traffic, found.machine, efficiency(found.engine, found.machine.memory)
    return reading_s(traffic, machine, eff, inf) / multiplying_s(traffic, machine, eff, 1, 1)


def _around(best: float, spread: float) -> Range:
    return Range(best / spread, best, best * spread)
