"""It failed for another reason than memory."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case

SIGNS = (
    "other",
    "traceback",
    "unknown_architecture",
    "too_few_gpus",
)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV632",
        "error",
        f"it failed, and the log shows no lack of memory: {case.last_words()}",
        "read the first error of the log; versions, too few GPUs and unknown architectures are the usual ones",
    )
