"""Quantities as Kubernetes and Compose write them."""

import re

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40, "b": 1}
_COMPOSE = {"kb": 2**10, "mb": 2**20, "gb": 2**30}


def kubernetes_bytes(text: str) -> int | None:
    """Bytes of ``16Gi``, ``20G``, ``1e9``; None for what is none. Compose's ``8gb`` counts in steps of 1024.

    Source: kubernetes apimachinery pkg/api/resource/quantity.go; docker go-units size.go (RAMInBytes).
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?(?:[eE]\d+)?)\s*([A-Za-z]*)", text.strip())
    if not found:
        return None
    factor = {**_UNITS, **_COMPOSE}.get(found[2].lower())
    return None if factor is None else int(float(found[1]) * factor)
