"""Give the engine up to 0.92 of the card where it has it for itself.

Source: claim 9 of the article on KV caches (0.85 to 0.92); vLLM's own default is 0.9, from 0.19 on 0.92.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 50
KNOBS = ("utilization",)
LOWERS = "short"
EASES = True
SOURCE = "vLLM docs, configuration/optimization.md; the context of CUDA and NCCL stay outside of the share"
MOST = 0.92


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """0.92, where it is less and nothing else holds memory of the card."""
    if plan.utilization is not None and plan.utilization < MOST and not case.is_shared and case.may_turn("utilization"):
        yield plan._replace(utilization=MOST)


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """From which share to which."""
    if before.utilization is not None and after.utilization is not None and after.utilization > before.utilization:
        message = f"{after.utilization:g} of the card for {before.utilization:g}: the pool grows by the difference"
        yield Finding("KV425", "note", message, "start at 0.85 where other processes use the card")
