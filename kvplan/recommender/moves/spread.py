"""Spread the model over more of the cards: each holds a part of the weights and of the cache.

Source: vLLM docs, configuration/optimization.md: tensor parallelism first, then pipeline stages.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 65
KNOBS = ("tp", "pp", "dp")
LOWERS = "needed"
EASES = False
SOURCE = "vLLM docs, configuration/optimization.md and serving/parallelism_scaling.md"

MANY = ("throughput", "concurrency", "cost")
"""Goals of those who serve many."""


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """Twice, four times, … as many cards to each layer, and stages where that does not use all; replicas where many are to be served."""
    n_gpus = len(case.first.node.gpus) // plan.dp
    if not case.may_turn("tp"):
        return
    yield from _replicas(plan, case, n_gpus)
    for ways in range(plan.tp + 1, n_gpus // plan.pp + 1):
        if _is_usual(ways) or ways == n_gpus:
            yield plan._replace(tp=ways)
    for stages in range(plan.pp + 1, n_gpus + 1) if case.may_turn("pp") else ():
        if n_gpus % stages == 0 and plan.tp == 1:
            yield plan._replace(tp=n_gpus // stages, pp=stages)


def _replicas(plan: Plan, case: Case, n_gpus: int) -> Iterator[Plan]:
    """Copies of a dense model over all cards; experts would be spread over the copies."""
    dense = not any(ffn.kind == "moe" for run in case.model.runs for ffn in run.layer.ffns)
    if case.goal not in MANY or plan.cards != 1 or not dense or not case.may_turn("dp"):
        return
    for ways in range(1, n_gpus):
        if _is_usual(ways) and n_gpus % ways == 0:
            yield plan._replace(tp=ways, dp=n_gpus // ways)


def _is_usual(ways: int) -> bool:
    return ways & (ways - 1) == 0


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """Over how many."""
    if (after.tp, after.pp, after.dp) != (before.tp, before.pp, before.dp):
        stages = "" if after.pp == 1 else f" in {after.pp} stages"
        copies = "" if after.dp == 1 else f" in {after.dp} replicas, each with its own sequences"
        message = f"{after.cards} cards{stages}{copies}: vLLM takes one unless it is told"
        hint = "replicas (--data-parallel-size) serve more where one card holds the model: --goal throughput"
        yield Finding("KV430", "note", message, "" if case.goal in MANY else hint)
