"""The pool of blocks holds no request of the longest sequence."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("pool_below_one_request",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV600",
        "error",
        f"the cache holds no request of {case.shown('max_model_len')} tokens: {case.sized('KV cache needed', 'available KV cache memory')}",
        "shorten max_model_len first: the pool is what is left beside the weights, and one request of that length must fit into it",
        fixes(case, "ctx", "seqs", "more", "split", "fewer_bits"),
    )
