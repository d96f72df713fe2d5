"""Lower concurrency before changing the model: fewer sequences at once take fewer caches, and the others wait.

Source: claim 17 of the article on KV caches (one at a time, not a smaller model); vLLM docs, configuration/optimization.md, preemption.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 30
KNOBS = ("sequences",)
LOWERS = "needed"
EASES = True
SOURCE = "vLLM docs, configuration/optimization.md"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """As few as are asked for; the search then takes as many as fit."""
    if plan.sequences > case.least_sequences and case.may_turn("sequences"):
        yield plan._replace(sequences=case.least_sequences)


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """From how many to how many."""
    if after.sequences < before.sequences:
        message = f"{after.sequences:,} sequences at once for {before.sequences:,}: as many full ones as fit for certain, others wait"
        yield Finding("KV422", "note", message, "shorter sequences leave room for more at once")
