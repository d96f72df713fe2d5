"""kvplan: where an LLM's memory goes, before the GPU is rented.

``load_model(ref)`` reads a model, ``estimate(ref, ctx=…, batch=…)`` says where each byte goes, ``explain("server.log")``
what an engine's log says. Importing kvplan costs
nothing; what is used is imported then.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvplan.core.errors import KvplanError
    from kvplan.estimator import Estimate, estimate
    from kvplan.explainer.explanation import Explanation, explain
    from kvplan.specs import load_model
    from kvplan.verifier import verify

__version__ = "0.1.0"
__all__ = ["Estimate", "Explanation", "KvplanError", "__version__", "estimate", "explain", "load_model", "verify"]

_HOMES = {
    "Estimate": "kvplan.estimator",
    "Explanation": "kvplan.explainer.explanation",
    "KvplanError": "kvplan.core.errors",
    "estimate": "kvplan.estimator",
    "explain": "kvplan.explainer.explanation",
    "load_model": "kvplan.specs",
    "verify": "kvplan.verifier",
}


def __getattr__(name: str) -> object:
    """The public name, from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kvplan' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
