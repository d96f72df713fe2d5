"""The weights do not fit."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = (
    "loading",
    "weights_buffer",
)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV607",
        "error",
        f"memory ran out while the weights were loaded{case.shortly()}",
        "no context is too short for that: more cards, a checkpoint quantized beforehand, fewer layers on the device, or a smaller model",
        fixes(case, "split", "eight_bits", "four_bits"),
    )
