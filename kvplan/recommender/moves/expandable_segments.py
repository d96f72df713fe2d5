"""Let PyTorch's allocator grow its segments: of segments of a fixed size, much is reserved that no tensor fits into.

Source: PyTorch docs, notes/cuda, expandable_segments; the shares are those of the traces in the engine's shares.py.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 14
KNOBS = ("segments",)
LOWERS = "needed"
EASES = True
SOURCE = "PyTorch docs, notes/cuda, PYTORCH_ALLOC_CONF"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """Segments that grow, where they don't."""
    if plan.segments == "fixed" and case.may_turn("segments"):
        yield plan._replace(segments="expandable")


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """How it is asked for."""
    if before.segments == "fixed" != after.segments:
        message = "segments that grow leave less memory reserved and unused"
        yield Finding("KV438", "note", message, "set PYTORCH_ALLOC_CONF=expandable_segments:True for the process")
