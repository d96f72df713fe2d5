"""Ollama keeps layers on the host although they may fit."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case

SIGNS = ("",)


def applies(case: Case) -> bool:
    """Whether it is this, of what the sign may mean."""
    layers, on_gpu = case.value("model layers"), case.value("layers offloaded")
    return layers is not None and on_gpu is not None and on_gpu < layers


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV620",
        "warning",
        f"Ollama put {case.shown('layers offloaded')} of {case.shown('model layers')} on the GPU: it expects "
        f"{case.shown('memory required, all on the GPU')} and sees {case.shown('memory available')}",
        "its estimate can be far too high (flash attention, q8_0 and windows are left out): a shorter num_ctx, "
        "OLLAMA_NUM_PARALLEL=1, or force num_gpu",
    )
