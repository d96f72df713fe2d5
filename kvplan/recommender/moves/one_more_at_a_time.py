"""Raise concurrency from one upward, a step at a time, and watch the pool: the ladder shows what each step takes.

Source: claim 18 of the article on KV caches; SGLang docs, hyperparameter_tuning.md.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 110
KNOBS: tuple[str, ...] = ()
LOWERS = None
EASES = False
SOURCE = "claim 18 of the article on KV caches"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """None: it is advice for whoever runs the plan."""
    return iter(())


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """Where there is a ladder to climb."""
    if case.promised(after) > 1:
        message = f"send 1 request at a time first, then 2, 4, … up to {after.sequences:,}: stop where the time between tokens is too long"
        yield Finding("KV433", "note", message, "the ladder below has bytes and tokens a second")
