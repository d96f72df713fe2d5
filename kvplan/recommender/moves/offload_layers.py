"""Leave layers, or the experts of some, to the host where no smaller type will do: it runs, and slower.

Source: llama.cpp b11434 tools/server/README.md, -ngl and --n-cpu-moe; ``--fit`` moves them by itself where nothing is said.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 100
KNOBS = ("gpu_layers", "cpu_moe")
LOWERS = "needed"
EASES = True
SOURCE = "llama.cpp b11434 common/fit.cpp"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """None of its own: the search leaves as little behind as it can, once nothing else fits."""
    return iter(())


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """How much stays behind."""
    parts = []
    if after.gpu_layers is not None and after.gpu_layers != before.gpu_layers:
        parts.append(f"{case.model.n_layers + 1 - after.gpu_layers} of {case.model.n_layers + 1} layers")
    if after.cpu_moe and after.cpu_moe != before.cpu_moe:
        parts.append(f"the experts of {after.cpu_moe} layers")
    if parts:
        message = f"{' and '.join(parts)} on the host: it runs, several times slower"
        yield Finding("KV431", "note", message, "a smaller type, a shorter context or a larger card keeps all on it")
