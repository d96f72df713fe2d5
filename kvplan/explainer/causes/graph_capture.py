"""CUDA graphs did not fit beside the pool."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("graph_capture",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV603",
        "error",
        f"capturing CUDA graphs ran out of memory{case.shortly()}",
        "up to vLLM 0.20 graphs lie outside the utilization: leave them room, or capture fewer",
        fixes(case, "seqs", "less", "eager"),
    )
