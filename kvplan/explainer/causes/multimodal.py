"""The profile run encodes the largest image or video that the processor lets through."""

from kvplan.core.ledger import Finding, Fix
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = (
    "multimodal",
    "no_pool",
)
_MANY = 32_768  # the largest budget that leaves the pool most of a card


def applies(case: Case) -> bool:
    """Whether it is this, of what the sign may mean."""
    return case.ending.sign == "multimodal" or (case.value("encoder cache budget") or 0) > _MANY


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV606",
        "error",
        f"the profile run of images or video took what the cache needs{case.suffix('encoder cache budget', ': {} of encoder input')}",
        "limit what one prompt may hold (--limit-mm-per-prompt) and its pixels (--mm-processor-kwargs), or serve text alone",
        (Fix("--limit-mm-per-prompt", "", '{"image": 1, "video": 0}'), *fixes(case, "batched")),
    )
