"""From plans that fit to proposals: the command, what it changes and by how much, why not more."""

from collections.abc import Iterator, Sequence

from kvplan.core.ledger import Finding, Fix
from kvplan.recommender import quality, rewriting
from kvplan.recommender.asking import estimate_of
from kvplan.recommender.case import Case
from kvplan.recommender.moves import moves
from kvplan.recommender.neighbors import Neighbor, neighbors
from kvplan.recommender.plan import KNOBS, Plan
from kvplan.recommender.result import Proposal, Rejected, Rung
from kvplan.recommender.speed import tokens_per_s
from kvplan.recommender.trial import Bench, Trial

_MOST_REJECTED = 12


def proposal(bench: Bench, trial: Trial) -> Proposal:
    """What is proposed of a plan that fits."""
    case, plan = bench.case, trial.plan
    alone = bench.alone(plan).found
    assert alone is not None
    assert trial.found is not None
    return Proposal(
        plan=plan,
        command=rewriting.command(case, plan),
        found=alone,
        full=trial.found,
        headroom_bytes=-trial.short_bytes,
        risk=quality.risk(case, plan),
        form=rewriting.form(case, plan),
        changes=tuple(changes(bench, plan)),
        findings=tuple(_findings(case, plan)),
        why=_why(case, plan, list(neighbors(bench, plan))),
        checked_by=estimate_of(case, plan),
    )


def changes(bench: Bench, plan: Plan) -> Iterator[Fix]:
    """Each flag that differs from the command where the search began, and what it does to the bytes needed, one after the other."""
    case, now = bench.case, bench.case.base
    for knob in _in_order(case, plan):
        after = now._replace(**{knob: getattr(plan, knob)})
        effect = _needed(bench, after, now)
        now = after
        yield Fix(*_flag(case, knob, plan), effect)


def _in_order(case: Case, plan: Plan) -> Sequence[str]:
    """Knobs with a flag that differ, where layers lie before all else: what an engine would move then stays out of the effects."""
    advised = [knob for move in moves() for knob in move.KNOBS]
    order = list(dict.fromkeys(("gpu_layers", "cpu_moe", *advised, *KNOBS)))
    return [knob for knob in order if case.dialect.spellings.get(knob) and getattr(plan, knob) != getattr(case.base, knob)]


def _flag(case: Case, knob: str, plan: Plan) -> tuple[str, str, str]:
    """The flag, what it said, what it says; of weights that nothing is loaded for, the model's name."""
    said, base = case.dialect.said, case.base
    spelled = " ".join(one.flag for one in case.dialect.spellings[knob])
    before, after = said(knob, base), said(knob, plan)
    if knob == "weights" and before == after:
        return "model", rewriting.model_name(case, base), rewriting.model_name(case, plan)
    return spelled, before or "unsaid", after or "unsaid"


def _needed(bench: Bench, after: Plan, before: Plan) -> int | None:
    found = [bench.alone(plan).found for plan in (after, before)]
    if found[0] is None or found[1] is None:
        return None
    return found[0].needed.best - found[1].needed.best


def _findings(case: Case, plan: Plan) -> Iterator[Finding]:
    for move in moves():
        yield from move.said(_begun(case), plan, case)


def _begun(case: Case) -> Plan:
    """Where the advice begins: a command as it is, or what was asked for."""
    return case.base if case.pasted else case.start._replace(weights=case.forms[0].name)


def _why(case: Case, plan: Plan, better: Sequence[Neighbor]) -> str:
    parts = [f"not {found.words}: {found.trial.reason}" for found in better]
    if case.goal == "context" and case.limit is not None and plan.ctx_tokens >= case.limit:
        parts.insert(0, f"{case.limit:,} tokens are all that the model was made for")
    return "; ".join(parts) or "nothing that is better by a step was left out"


def rejected(bench: Bench, fitting: Sequence[Trial], failed: Sequence[Trial]) -> tuple[Rejected, ...]:
    """The neighbors of the first proposal, then what did not fit at all, the nearest miss first."""
    near = [found.trial for found in neighbors(bench, fitting[0].plan)] if fitting else []
    trials = list({trial.plan: trial for trial in (*near, *failed)}.values())
    return tuple(Rejected(trial.plan, rewriting.command(bench.case, trial.plan), trial.reason) for trial in trials[:_MOST_REJECTED])


def ladder(bench: Bench, plan: Plan) -> tuple[Rung, ...]:
    """1, 2, 4, … sequences at once, up to as many as the plan allows."""
    found = bench.alone(plan).found
    at_most = found.capacity.max_batch if found is not None and found.capacity is not None else None
    most = max(bench.case.promised(plan), min(plan.sequences, at_most or 1))
    steps = [2**power for power in range(most.bit_length()) if 2**power < most]
    return tuple(rung for n in (*steps, most) for rung in _rung(bench, plan, n))


def _rung(bench: Bench, plan: Plan, n: int) -> Iterator[Rung]:
    slots = bench.case.dialect.reserves
    trial = bench.demand(plan._replace(sequences=n)) if slots else bench.at(plan, plan.ctx_tokens, n)
    if trial.found is not None:
        yield Rung(n, trial.found.needed.best, tokens_per_s(trial.found), trial.found.verdict)
