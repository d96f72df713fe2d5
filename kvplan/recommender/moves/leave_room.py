"""Start at 0.85 of the card where other things share it, and never take more than 0.92: what is outside of the share needs the rest.

Source: claim 9 of the article on KV caches; CUDA's context, NCCL and, in older versions, graphs lie outside of the share.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 15
KNOBS = ("utilization",)
LOWERS = "total"
EASES = True
SOURCE = "vllm 0.33.0 v1/worker/utils.py, request_memory: less free than the share is a refusal"
SHARED, ALONE = 0.85, 0.92


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """The share that leaves enough."""
    most = SHARED if case.is_shared else ALONE
    if plan.utilization is not None and plan.utilization > most and case.may_turn("utilization"):
        yield plan._replace(utilization=most)


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """From which share to which."""
    if before.utilization is not None and after.utilization is not None and after.utilization < before.utilization:
        who = "other processes hold memory of the card" if case.is_shared else "contexts and libraries lie outside of the share"
        message = f"{after.utilization:g} of the card for {before.utilization:g}: {who}"
        yield Finding("KV426", "note", message, "raise it in steps of 0.01 once it runs")
