"""Attention scores of the whole prompt."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = (
    "scores",
    "sdpa",
)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV629",
        "error",
        f"the attention scores of the prompt did not fit{case.suffix('tried to allocate', ': {} at once')}",
        "they grow with the square of the prompt: sdpa or flash_attention_2 in place of eager, then a shorter prompt",
        fixes(case, "attention", "torch_batch", "torch_ctx"),
    )
