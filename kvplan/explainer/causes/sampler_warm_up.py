"""The sampler is warmed up after the pool has taken its share."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("sampler_warm_up",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV602",
        "error",
        f"the warm-up of the sampler with {case.number('dummy requests')} sequences ran out of memory{case.shortly()}",
        "it runs after the pool has taken its share: fewer sequences at once, or a smaller share",
        fixes(case, "seqs", "less"),
    )
