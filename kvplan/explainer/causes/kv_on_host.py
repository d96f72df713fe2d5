"""The cache lies on the host although layers lie on a device."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case

SIGNS = ("",)


def applies(case: Case) -> bool:
    """Whether it is this, of what the sign may mean."""
    devices = {figure.device or "" for figure in case.start.figures if figure.label == "KV buffer"}
    weights = {figure.device or "" for figure in case.start.figures if figure.label == "model buffer"}
    return bool(devices) and all(device.startswith("CPU") for device in devices) and any(not w.startswith("CPU") for w in weights)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV626",
        "warning",
        f"the cache lies in the host's memory, while {case.shown('layers offloaded')} lie on a device",
        "a layer's cache lies with its layer: raise -ngl, and leave out -nkvo",
    )
