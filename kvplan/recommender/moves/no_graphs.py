"""Capture no CUDA graphs: their memory is free, and each step costs more of the processor's time.

Source: vLLM docs, configuration/conserving_memory.md; seen on a GB10: 59 tokens/s with graphs, 26 without.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 60
KNOBS = ("graphs",)
LOWERS = "needed"
EASES = True
SOURCE = "vLLM docs, configuration/conserving_memory.md"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """None captured, where some are."""
    if plan.graphs and case.may_turn("graphs"):
        yield plan._replace(graphs=False)


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """What it costs."""
    if before.graphs and not after.graphs:
        message = "no CUDA graphs: room for them was not certain; small batches decode slower, by up to half"
        yield Finding(
            "KV424", "note", message, "leave --enforce-eager out where it starts without: the estimate allows for their upper bound"
        )
