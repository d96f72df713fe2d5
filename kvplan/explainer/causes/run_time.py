"""llama.cpp loaded, and ran out of memory while it ran."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("run_time",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV619",
        "error",
        "llama.cpp loaded, and ran out of memory while it ran",
        "pools, draft contexts, image encoders and unpacked caches come at run time: leave half a GiB to one GiB free on each device",
        fixes(case, "llama_ctx", "micro_batch"),
    )
