"""The most that a plan can be asked for: the longest context, the most sequences at once, for certain."""

from collections.abc import Callable

from kvplan.core.units import MAX_COUNT
from kvplan.estimator.inverse import largest
from kvplan.recommender.plan import Plan
from kvplan.recommender.trial import Bench

_STEP = 256
_NEVER = 2**62


def grown(bench: Bench, plan: Plan) -> Plan:
    """The fitting ``plan`` as large as its goal asks for; of a pasted command up to what it asked for."""
    case = bench.case
    if case.goal == "context":
        return longer(bench, plan, case.limit or MAX_COUNT)
    if case.goal == "latency" and not case.pasted:
        return plan
    if not case.pasted:
        return more(bench, plan, case.dialect.most_sequences)
    most = case.start.ctx_tokens if case.limit is None else min(case.limit, case.start.ctx_tokens)
    plan = longer(bench, plan, most)
    at_once = case.dialect.most_sequences if case.goal in ("concurrency", "throughput") else case.start.sequences
    return more(bench, plan, max(at_once, plan.sequences))


def longer(bench: Bench, plan: Plan, most: int) -> Plan:
    """With the longest context up to ``most``, in whole steps."""
    if plan.ctx_tokens >= most or not bench.case.may_turn("ctx_tokens"):
        return plan

    def at(n: int) -> Plan:
        return plan._replace(ctx_tokens=min(most, n * _STEP))

    found = bench.demand(plan).found
    likely = (found.capacity.max_ctx_tokens if found is not None and found.capacity is not None else None) or plan.ctx_tokens
    n = largest(_missing(bench, at), guess=max(1, likely // _STEP), most=-(-most // _STEP))
    return _better(bench, plan, at(n)) if n * _STEP > plan.ctx_tokens else plan


def more(bench: Bench, plan: Plan, most: int) -> Plan:
    """With the most sequences at once, up to ``most``."""
    if plan.sequences >= most or not bench.case.may_turn("sequences"):
        return plan

    def at(n: int) -> Plan:
        return plan._replace(sequences=n)

    found = bench.demand(plan).found
    likely = (found.capacity.max_batch if found is not None and found.capacity is not None else None) or plan.sequences
    n = largest(_missing(bench, at), guess=max(1, likely), most=most)
    return _better(bench, plan, at(n)) if n > plan.sequences else plan


def _missing(bench: Bench, at: Callable[[int], Plan]) -> Callable[[int], int]:
    """Bytes that are missing with ``n`` of them, 0 or less where it fits."""

    def missing(n: int) -> int:
        trial = bench.demand(at(n))
        if trial.fits:
            return min(0, trial.short_bytes)
        return max(1, min(trial.short_bytes, _NEVER))

    return missing


def _better(bench: Bench, plan: Plan, other: Plan) -> Plan:
    return other if bench.demand(other).fits and bench.alone(other).fits else plan
