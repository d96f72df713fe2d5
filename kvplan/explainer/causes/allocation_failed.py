"""Memory ran out, and the log does not show where."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("torch",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV630",
        "error",
        f"memory ran out{case.shortly()}; the log does not show in which part of the code",
        "the lines before the message say more: explain the whole log; then a shorter context, fewer sequences, a smaller batch",
        fixes(case, "torch_batch", "torch_ctx", "ctx", "seqs", "batched", "expandable", "torch_bits", "eight_bits", "four_bits"),
    )
