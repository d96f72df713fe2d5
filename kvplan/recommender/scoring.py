"""Which of two plans that fit is the better one for a goal: doublings of what the goal counts, less what it costs."""

import math

from kvplan.estimator import Estimate
from kvplan.recommender import quality, rewriting
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan
from kvplan.recommender.speed import seconds_per_token, tokens_per_s
from kvplan.recommender.trial import Bench, Trial

_DOUBLINGS = {"quality": 20.0, "": 3.0}
_WILLING = 0.35
"""Doublings that one point of risk must bring: for quality no gain makes up for it, without a goal few do."""
_CHANGE = 10.0
_CHECKPOINT = 0.75
_EAGER, _ON_HOST, _ALL_ON_HOST, _SHORTER = 1.5, 3.0, 12.0, 0.9
_HOST_IS_SLOWER = 10
_EPSILON = 1e-9
_ALIKE = 1.03


def score(bench: Bench, trial: Trial) -> float:
    """Higher is better. Of a pasted command the fewest changes win first, where none of its goals was said."""
    case, plan = bench.case, trial.plan
    each = _each(case)
    gained = math.log2(max(_EPSILON, value(bench, trial)))
    lost = each * (quality.risk(case, plan).weight + _eased(case, plan))
    unready = _CHECKPOINT if rewriting.form(case, plan).needs_checkpoint else 0.0
    changes = len(rewriting.changed(case, plan)) if case.pasted else 0
    return gained - lost - unready - math.log2(plan.pp) - changes * (_CHANGE if case.goal is None else each)


def _each(case: Case) -> float:
    """Doublings that a point of risk must bring; on a processor alone, where weights in 16 bits are a pain, also without a goal."""
    return _WILLING if case.goal is None and not case.first.node.gpus else _DOUBLINGS.get(case.goal or "", _WILLING)


def _eased(case: Case, plan: Plan) -> float:
    """What was given up to make room, in points of risk."""
    found = 0.0
    if not plan.graphs:
        found += _EAGER
    if plan.step_tokens and plan.step_tokens < case.start.step_tokens:
        found += math.log2(case.start.step_tokens / plan.step_tokens) / 4
    left = _left_behind(case, plan)
    found += _ON_HOST + _ALL_ON_HOST * left if left else 0
    return found + (_SHORTER if plan.ctx_tokens < case.start.ctx_tokens else 0)


def _read_bytes(found: Estimate) -> int:
    """About what a token has to read where no speed is known; what lies on the host beside cards counts as much as it is slower."""
    slower = _HOST_IS_SLOWER if found.node.gpus else 1
    return max(1, sum(place.needed.best * (slower if place.place.id == "host" else 1) for place in found.places))


def _left_behind(case: Case, plan: Plan) -> float:
    """The share of the layers, or of their experts, that is on the host though there are cards."""
    n_layers = case.model.n_layers + 1
    layers = 0 if plan.gpu_layers is None else max(0, n_layers - plan.gpu_layers)
    return max(layers, plan.cpu_moe or 0) / n_layers


def value(bench: Bench, trial: Trial) -> float:
    """What the goal counts; where no speed is known the bytes that each token has to read, or how many are written at once."""
    plan, goal = trial.plan, bench.case.goal
    assert trial.found is not None
    if goal == "context":
        return plan.ctx_tokens
    if goal == "latency":
        alone = bench.alone(plan).found or trial.found
        return 1 / (seconds_per_token(alone) or _read_bytes(alone) / 1e12)
    at_once = plan.sequences * plan.dp
    if goal in ("throughput", "cost"):
        per_s = tokens_per_s(trial.found) or at_once * _pace(trial.found)
        return per_s / (plan.cards if goal == "cost" and not bench.case.whole_nodes else 1)
    return at_once * (_pace(trial.found) if goal is None else 1)


def _pace(found: Estimate) -> float:
    """What smaller weights bring where a processor alone reads them, whose speed nobody said: each step waits for all of them."""
    if found.node.gpus:
        return 1.0
    return 1e9 / max(1, sum(entry.size.best for entry in found.entries if entry.term == "weights"))


def is_beaten(bench: Bench, trial: Trial, others: list[Trial]) -> bool:
    """Whether another gives as much of the goal for no more risk, cards, stages, changes or checkpoints to find, and less of one.

    Hundredths of the goal are beyond what estimates of speed know, and count only where all else is equal.
    """
    given, costs = value(bench, trial), _costs(bench, trial)
    for other in others:
        theirs, gives = _costs(bench, other), value(bench, other)
        as_cheap = all(one <= another for one, another in zip(theirs, costs, strict=True))
        if as_cheap and (gives > given or (theirs != costs and gives * _ALIKE >= given)):
            return True
    return False


def _costs(bench: Bench, trial: Trial) -> tuple[float, ...]:
    case, plan = bench.case, trial.plan
    changes = len(rewriting.changed(case, plan)) if case.pasted else 0
    risk = quality.risk(case, plan).weight + _eased(case, plan)
    return (-plan.ctx_tokens, risk, rewriting.form(case, plan).needs_checkpoint, plan.cards, plan.pp, changes)
