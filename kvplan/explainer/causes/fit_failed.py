"""--fit gave up, and the load ran out of memory."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("fit",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV618",
        "error",
        "--fit could not make the model fit the free memory",
        "leave -ngl and -ot to it, raise --fit-target, or place the layers by hand",
        fixes(case, "llama_ctx"),
    )
