"""kvplan: where an LLM's memory goes, before the GPU is rented.

``load_model(ref)`` reads a model, ``estimate(ref, ctx=…, batch=…)`` says where each byte goes, ``sweep(ref, ctx=[…])`` what many
settings take, ``recommend(ref, gpu=…)`` what to run, ``compare(ref, ref)`` where the bytes differ, ``check(paths)`` whether the servers
that files deploy start and hold their load, ``check_diff("main", paths)`` what a change made worse of them, ``explain("server.log")``
what a log says, ``prefix("requests.jsonl")`` what prefix caching saves, ``quality("model/")`` what quantized caches cost. Importing
kvplan costs nothing; what is used is imported then.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvplan.checker.check import check
    from kvplan.comparer import compare
    from kvplan.core.errors import KvplanError
    from kvplan.differ import check_diff
    from kvplan.estimator import Estimate, estimate
    from kvplan.estimator.sweep import Sweep, sweep
    from kvplan.explainer.explanation import Explanation, explain
    from kvplan.prefixes import Prefix, prefix
    from kvplan.recommender import Recommendation, recommend
    from kvplan.specs import load_model
    from kvplan.verifier import verify
    from kvplan.verifier.fidelity.study import quality

__version__ = "0.1.0"
__all__ = [
    "Estimate",
    "Explanation",
    "KvplanError",
    "Prefix",
    "Recommendation",
    "Sweep",
    "__version__",
    "check",
    "check_diff",
    "compare",
    "estimate",
    "explain",
    "load_model",
    "prefix",
    "quality",
    "recommend",
    "sweep",
    "verify",
]

_HOMES = {
    "Estimate": "kvplan.estimator",
    "Explanation": "kvplan.explainer.explanation",
    "KvplanError": "kvplan.core.errors",
    "Prefix": "kvplan.prefixes",
    "Recommendation": "kvplan.recommender",
    "Sweep": "kvplan.estimator.sweep",
    "check": "kvplan.checker.check",
    "check_diff": "kvplan.differ",
    "compare": "kvplan.comparer",
    "estimate": "kvplan.estimator",
    "explain": "kvplan.explainer.explanation",
    "load_model": "kvplan.specs",
    "prefix": "kvplan.prefixes",
    "quality": "kvplan.verifier.fidelity.study",
    "recommend": "kvplan.recommender",
    "sweep": "kvplan.estimator.sweep",
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
