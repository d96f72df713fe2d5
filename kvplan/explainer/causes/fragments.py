"""Free memory is in pieces."""

from kvplan.core.ledger import Finding
from kvplan.core.units import GIB
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = (
    "torch",
    "serving",
)


def applies(case: Case) -> bool:
    """Whether it is this, of what the sign may mean."""
    unused, tried = case.size("reserved but unallocated"), case.size("tried to allocate")
    return unused is not None and tried is not None and unused > 2 * tried and unused > GIB


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV631",
        "error",
        f"{case.shown('reserved but unallocated')} are reserved and unused, in pieces too small for {case.shown('tried to allocate')}",
        "PYTORCH_ALLOC_CONF=expandable_segments:True lets pieces grow together",
        fixes(case, "expandable", "less"),
    )
