"""Another process gave memory back while this one profiled."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case

SIGNS = ("released_while_profiling",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV605",
        "error",
        f"memory became free while vLLM measured its own: {case.shown('initial free memory')} before, "
        f"{case.shown('current free memory')} after",
        "another process on this card ended or shrank meanwhile: start engines one after another, or give --kv-cache-memory-bytes",
    )
