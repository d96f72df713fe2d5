"""The weights fit, the cache at this context does not."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("kv_buffer",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV615",
        "error",
        f"the cache for {case.shown('n_ctx', 'n_ctx_seq')} could not be allocated{case.suffix('failed allocation', ': {}')}",
        "a shorter context first (-c; Ollama: num_ctx); without -c it is the model's whole context",
        fixes(case, "llama_ctx", "llama_bits"),
    )
