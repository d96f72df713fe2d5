"""More context was asked for than the model was made for."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("beyond_the_model",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV612",
        "error",
        f"max_model_len {case.shown('max_model_len asked')} is beyond the model's {case.shown('derived max_model_len')}",
        "lower it; VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 overrides, and most models then answer nonsense",
        fixes(case, "ctx"),
    )
