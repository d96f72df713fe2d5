"""The context is longer than the model was trained for."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("beyond_training",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV635",
        "warning",
        f"{case.shown('n_ctx_seq')} of context, and the model was trained for {case.shown('n_ctx_train')}",
        "lower -c: what is beyond takes memory and gives poor answers without rope scaling",
        fixes(case, "llama_ctx"),
    )
