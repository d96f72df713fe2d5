"""Ollama counts more memory than the machine has free."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case

SIGNS = ("system_memory",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV621",
        "error",
        f"Ollama wants {case.shown('memory required')} of system memory and sees {case.shown('memory available')}",
        "a shorter num_ctx and OLLAMA_NUM_PARALLEL=1 first: it counts num_parallel x num_ctx; older ones count hybrid "
        "models as full attention",
    )
