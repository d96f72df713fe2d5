"""The compute buffer did not fit beside weights and cache."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = (
    "compute_buffer",
    "buffer",
)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV616",
        "error",
        f"the compute buffer could not be allocated{case.suffix('failed allocation', ': {}')}",
        "with -fa off it holds the scores, heads x context x -ub; every GPU has one, and pipeline parallelism copies its inputs four times",
        fixes(case, "flash", "micro_batch", "llama_ctx"),
    )
