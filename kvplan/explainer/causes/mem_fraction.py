"""SGLang's static share leaves no pool."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case

SIGNS = ("mem_fraction",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV633",
        "error",
        "SGLang's static share of memory holds the weights and no pool",
        "raise --mem-fraction-static in steps of 0.01; where it then runs out of memory, a smaller "
        "--chunked-prefill-size or --cuda-graph-max-bs",
    )
