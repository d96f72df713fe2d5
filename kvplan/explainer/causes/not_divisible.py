"""Something can't be split over that many ranks."""

from kvplan.core.ledger import Finding, Fix
from kvplan.explainer.case import Case

SIGNS = ("not_divisible",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV614",
        "error",
        f"the model can't be split over {case.number('tensor parallel size')} ranks: its heads or its vocabulary do not divide",
        "a power of two divides most models; `kvplan estimate --gpus N` names the largest that works",
        (Fix("--tensor-parallel-size", case.settings.get("tensor_parallel_size", ""), _below(case)),),
    )


def _below(case: Case) -> str:
    """The largest power of two below what was asked."""
    asked = int(case.value("tensor parallel size") or 2)
    return str(1 << max(0, (asked - 1).bit_length() - 1))
