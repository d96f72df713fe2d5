"""A quantized V cache needs flash attention."""

from kvplan.core.ledger import Finding, Fix
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("quantized_v",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV623",
        "error",
        "a quantized V cache needs flash attention",
        "-fa on; a quantized K alone works without",
        (*fixes(case, "flash"), Fix("-ctv", case.settings.get("type_v", ""), "f16")),
    )
