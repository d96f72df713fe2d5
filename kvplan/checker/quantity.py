"""Quantities as Kubernetes and Compose write them."""

import re

_BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_UNITS = {
    **{"": 1, "b": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12},
    **{f"{unit.upper()}i": n for unit, n in _BINARY.items()},
    **_BINARY,
    **{f"{unit}b": n for unit, n in _BINARY.items()},
}


def kubernetes_bytes(text: str) -> int | None:
    """Bytes of ``16Gi``, ``20G``, ``1e9``; None for what is none. Compose's ``8g`` and ``8gb`` count in steps of 1024.

    Source: kubernetes apimachinery pkg/api/resource/quantity.go; docker go-units size.go (RAMInBytes).
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?(?:[eE]\d+)?)\s*([A-Za-z]*)", text.strip())
    if not found:
        return None
    factor = _UNITS.get(found[2], _UNITS.get(found[2].lower()) if found[2][-1:] in "bB" else None)
    return None if factor is None else int(float(found[1]) * factor)
