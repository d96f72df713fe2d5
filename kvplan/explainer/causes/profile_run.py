"""The profile run itself ran out of memory."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("profile",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV634",
        "error",
        f"the profile run of one full step ran out of memory{case.shortly()}",
        "it runs max_num_batched_tokens at once, which in V0 is max_model_len: lower these, then max_num_seqs",
        fixes(case, "batched", "ctx", "seqs", "split"),
    )
