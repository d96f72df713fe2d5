"""Spread the model over more of the cards: each holds a part of the weights and of the cache.

Source: vLLM docs, configuration/optimization.md: tensor parallelism first, then pipeline stages.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 65
KNOBS = ("tp", "pp")
LOWERS = "needed"
EASES = False
SOURCE = "vLLM docs, configuration/optimization.md and serving/parallelism_scaling.md"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """Twice, four times, … as many cards to each layer, and stages where that does not use all."""
    n_gpus = len(case.first.node.gpus)
    if not case.may_turn("tp"):
        return
    for ways in range(plan.tp + 1, n_gpus // plan.pp + 1):
        if _is_usual(ways) or ways == n_gpus:
            yield plan._replace(tp=ways)
    for stages in range(plan.pp + 1, n_gpus + 1) if case.may_turn("pp") else ():
        if n_gpus % stages == 0 and plan.tp == 1:
            yield plan._replace(tp=n_gpus // stages, pp=stages)


def _is_usual(ways: int) -> bool:
    return ways & (ways - 1) == 0


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """Over how many."""
    if (after.tp, after.pp) != (before.tp, before.pp):
        stages = "" if after.pp == 1 else f" in {after.pp} stages"
        message = f"{after.tp * after.pp} cards{stages}: vLLM takes one unless it is told"
        yield Finding("KV430", "note", message, "replicas (--data-parallel-size) serve more where one card holds the model")
