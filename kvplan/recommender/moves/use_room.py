"""Use the room that is left: a longer context or more sequences than the command asks for, as far as it fits for certain.

Source: vLLM docs, configuration/optimization.md; the inverse of the estimate.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 130
KNOBS: tuple[str, ...] = ()
LOWERS = None
EASES = False
SOURCE = "the estimate's own inverses"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """None: every plan is grown as far as its goal asks for."""
    return iter(())


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """What grew."""
    grown = []
    if after.ctx_tokens > before.ctx_tokens:
        grown.append(f"{after.ctx_tokens:,} tokens where {before.ctx_tokens:,} would do")
    if after.sequences > before.sequences:
        grown.append(f"{after.sequences:,} sequences at once where {before.sequences:,} would do")
    if grown:
        yield Finding("KV435", "note", f"there is room for {' and '.join(grown)}", "")
