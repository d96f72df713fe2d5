"""Experts that lie on the host are copied to the device for large batches."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("compute_buffer",)


def applies(case: Case) -> bool:
    """Whether it is this, of what the sign may mean."""
    return "overrides" in case.start.frames or "n_cpu_moe" in case.settings


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV617",
        "error",
        f"the compute buffer could not be allocated{case.suffix('failed allocation', ': {}')}, with tensors overridden to the CPU",
        "batches of 32 tokens and more copy the experts to the device: a smaller -b and -ub; -np 1 and "
        "GGML_SCHED_MAX_COPIES=1 avoid copies",
        fixes(case, "micro_batch", "flash", "llama_ctx"),
    )
