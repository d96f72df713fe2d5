"""The dynamic cache grows by concatenation."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("cat",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV628",
        "error",
        f"the cache grew by concatenation until a new copy did not fit{case.suffix('tried to allocate', ': {} for one layer')}",
        "fewer sequences or tokens first; a static cache allocates once, at its full size",
        fixes(case, "torch_batch", "torch_ctx", "static", "expandable", "torch_bits", "eight_bits", "four_bits"),
    )
