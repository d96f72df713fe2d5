"""Nothing is left for the cache."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("no_pool",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV601",
        "error",
        f"nothing is left for the cache{case.suffix('available KV cache memory', ': {} after weights, activations and the rest')}",
        "fewer sequences and a shorter prefill step make the profile run smaller; a shorter max_model_len does not",
        fixes(case, "seqs", "batched", "more", "split"),
    )
