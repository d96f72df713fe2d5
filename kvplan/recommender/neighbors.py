"""One step better than a plan: why it is not that which is proposed."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.recommender.case import Case
from kvplan.recommender.plan import AUTO, Plan
from kvplan.recommender.rewriting import form
from kvplan.recommender.trial import Bench, Trial

_STEP = 256


class Neighbor(NamedTuple):
    """A better plan by one step, in words, and what came of it."""

    words: str
    trial: Trial


def neighbors(bench: Bench, plan: Plan) -> Iterator[Neighbor]:
    """Those that do not fit: longer or more at once, weights in more bits, a cache in 16."""
    for words, other in (*_larger(bench.case, plan), *_finer(bench.case, plan)):
        trial = bench.demand(other)
        if not trial.fits:
            yield Neighbor(words, trial)


def _larger(case: Case, plan: Plan) -> Iterator[tuple[str, Plan]]:
    more = plan._replace(sequences=plan.sequences + 1)
    counts = case.goal != "context" and case.promised(plan) == plan.sequences < case.dialect.most_sequences
    if counts and case.may_turn("sequences"):
        yield f"{more.sequences:,} sequences at once", more
    most = case.limit or plan.ctx_tokens
    if plan.ctx_tokens < most and case.may_turn("ctx_tokens") and (case.goal == "context" or plan.ctx_tokens < case.start.ctx_tokens):
        longer = plan._replace(ctx_tokens=min(most, plan.ctx_tokens + _STEP))
        yield f"{longer.ctx_tokens:,} tokens", longer


def _finer(case: Case, plan: Plan) -> Iterator[tuple[str, Plan]]:
    finer = [other for other in case.forms if other.bits > form(case, plan).bits]
    if finer and case.may_turn("weights"):
        best = min(finer, key=lambda other: other.bits)
        least = plan._replace(weights=best.name, sequences=min(plan.sequences, case.least_sequences))
        yield f"weights in {best.bits:.3g} bits ({best.name})", least
    if plan.cache != AUTO and case.start.cache == AUTO:
        yield "a cache in 16 bits", plan._replace(cache=AUTO)
    if not plan.graphs and case.start.graphs:
        yield "CUDA graphs", plan._replace(graphs=True)
    if plan.step_tokens < case.start.step_tokens:
        yield f"{2 * plan.step_tokens:,} tokens a step", plan._replace(step_tokens=2 * plan.step_tokens)
