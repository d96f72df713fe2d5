"""It started, and ran out of memory in service."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("serving",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV610",
        "error",
        f"it started, and ran out of memory in service{case.shortly()}",
        "the profile run does not cover prompt log-probabilities, long single prompts and some workspaces: leave more room beside the pool",
        fixes(case, "torch_batch", "torch_ctx", "batched", "less", "expandable", "torch_bits", "eight_bits", "four_bits"),
    )
