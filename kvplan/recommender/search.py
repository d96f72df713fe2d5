"""Every structure that the moves make of the start, eased where it does not fit, grown where it does, ranked."""

from itertools import islice
from typing import NamedTuple

from kvplan.recommender.case import Case
from kvplan.recommender.growing import grown
from kvplan.recommender.left_behind import left_behind
from kvplan.recommender.moves import moves
from kvplan.recommender.plan import Plan
from kvplan.recommender.scoring import is_beaten, score
from kvplan.recommender.trial import Bench, Trial, holds

MOST_GROWN, MOST_PROPOSED, MOST_SPLIT = 10, 5, 4


class Outcome(NamedTuple):
    """Plans that fit, the best first, and those that don't, the nearest miss first."""

    bench: Bench
    fitting: tuple[Trial, ...]
    failed: tuple[Trial, ...]


def explore(case: Case) -> Outcome:
    """Looks at each structure once, and grows the likely ones."""
    bench = Bench(case)
    looked = [settled(bench, plan) for plan in structures(case)]
    if not any(holds(bench, trial) for trial in looked):
        nearest = sorted(looked, key=lambda trial: (trial.plan.cache != case.start.cache, trial.short_bytes))
        looked += islice(left_behind(bench, nearest), MOST_SPLIT)
    fitting = sorted((trial for trial in looked if holds(bench, trial)), key=lambda trial: -_promise(bench, trial))
    best = [_chosen(bench, trial) for trial in fitting[:MOST_GROWN]]
    best = [trial for trial in best if not is_beaten(bench, trial, best)]
    best.sort(key=lambda trial: -score(bench, trial))
    failed = sorted((trial for trial in looked if not holds(bench, trial)), key=lambda trial: trial.short_bytes)
    return Outcome(bench, tuple(best), tuple(failed))


def structures(case: Case) -> list[Plan]:
    """The start, and what the moves that change its structure make of it."""
    found = [case.start]
    for move in moves():
        if not move.EASES:
            made = [other for plan in found for other in move.plans(plan, case)]
            found = [plan for plan in found if not _is_beyond(case, plan)] + made
    return list(dict.fromkeys(found))


def _is_beyond(case: Case, plan: Plan) -> bool:
    return case.limit is not None and plan.ctx_tokens > case.limit and case.may_turn("ctx_tokens")


def settled(bench: Bench, plan: Plan) -> Trial:
    """The plan as it is, or with the least of what eases it that makes it fit."""
    trial = first = bench.demand(plan)
    for move in moves():
        if holds(bench, trial) or trial.is_hopeless:
            break
        if move.EASES:
            trial = _eased(bench, trial, list(move.plans(trial.plan, bench.case)))
    return _spared(bench, plan, trial) if holds(bench, trial) else first


def _spared(bench: Bench, plan: Plan, trial: Trial) -> Trial:
    """Without what turned out not to be needed, the first given up taken back first."""
    for knob in dict.fromkeys(knob for move in moves() if move.EASES for knob in move.KNOBS):
        found = bench.demand(trial.plan._replace(**{knob: getattr(plan, knob)}))
        trial = found if holds(bench, found) else trial
    return trial


def _eased(bench: Bench, trial: Trial, plans: list[Plan]) -> Trial:
    """The first plan that fits, else the last, unless nothing came of it."""
    for plan in plans:
        found = bench.demand(plan)
        if found.found is None:
            break
        trial = found
        if holds(bench, trial):
            break
    return trial


def _chosen(bench: Bench, trial: Trial) -> Trial:
    return bench.demand(grown(bench, trial.plan))


def _promise(bench: Bench, trial: Trial) -> float:
    """The score that it would have at its likely size."""
    capacity = trial.found.capacity if trial.found is not None else None
    if capacity is None:
        return score(bench, trial)
    plan, case = trial.plan, bench.case
    ctx = max(plan.ctx_tokens, min(capacity.max_ctx_tokens or 0, case.limit or plan.ctx_tokens))
    at_once = max(plan.sequences, min(capacity.max_batch or 0, case.dialect.most_sequences))
    likely = plan._replace(ctx_tokens=ctx) if case.goal == "context" else plan._replace(sequences=at_once)
    return score(bench, trial._replace(plan=plan if case.pasted else likely))
