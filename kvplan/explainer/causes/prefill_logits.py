"""Logits of all prompt tokens at once."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("logits",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV627",
        "error",
        f"the logits of the prompt did not fit{case.suffix('tried to allocate', ': {} at once')}",
        "generate() keeps the last token's alone (logits_to_keep=1); a shorter prompt, a smaller batch, or prefill in chunks",
        fixes(case, "logits", "torch_batch", "torch_ctx"),
    )
