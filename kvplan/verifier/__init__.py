"""Measures real runs and reconciles them with the estimate; the only code that runs torch, in a child process.

``verify(model)`` does both. Nothing is imported before it is used: where measurements are taken, the rest of kvplan's
dependencies may be missing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvplan.verifier.verification import Verification, verify

__all__ = ["Verification", "verify"]


def __getattr__(name: str) -> object:
    """``verify`` or ``Verification``, imported now."""
    if name not in __all__:
        raise AttributeError(f"module 'kvplan.verifier' has no attribute '{name}'")
    from kvplan.verifier import verification

    return getattr(verification, name)
