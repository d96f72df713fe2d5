"""One GPU gets no layers."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case

SIGNS = (
    "gpu_too_small",
    "",
)


def applies(case: Case) -> bool:
    """Whether it is this, of what the sign may mean."""
    return case.ending.sign == "gpu_too_small"


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV622",
        "warning",
        "a GPU got no layers: projector, graph and two layers must fit on it before it gets any",
        "a shorter num_ctx, a smaller num_batch, flash attention or a quantized cache lower that minimum",
    )
