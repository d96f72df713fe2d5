"""Less of the card is free at start than the utilization asks for."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("not_free",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV604",
        "error",
        f"{case.shown('free at start')} of {case.shown('total memory')} are free, and the utilization asks for "
        f"{case.shown('requested memory')}: something else holds {case.held()}",
        "end the other process (nvidia-smi shows it; an engine that just ended may still be there), or ask for the share that is free",
        fixes(case, "less"),
    )
