"""The pool was full, and sequences were thrown out to be computed again."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("preempted",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV613",
        "warning",
        f"the cache was full in service: sequences were dropped and computed again{case.suffix('preemptions', ' ({})')}",
        "fewer sequences at once, more memory for the pool, or shorter contexts",
        fixes(case, "seqs", "more", "split", "fewer_bits"),
    )
