"""PyTorch's own figures beside the estimate: what tensors hold, what the allocator holds for them, what the process holds."""

from kvplan.core.ledger import Interval
from kvplan.estimator import Estimate
from kvplan.explainer.case import Case
from kvplan.explainer.row import Row

_BESIDE = {"allocated": ("allocator", "runtime_context"), "reserved": ("runtime_context",), "process": ()}
"""Terms of the estimate that each sum leaves out."""


_WITH_FAILED = "what tensors held, with what was asked for"


def rows(case: Case) -> tuple[Row, ...]:
    """What a message of PyTorch prints: with the allocation that failed, as that is what the run would have held."""
    held, tried = case.size("allocated by PyTorch"), case.size("tried to allocate") or 0
    if held is None:
        peak = case.size("peak allocated")
        return () if peak is None else (_row(case, "allocated", peak),)
    unused = case.size("reserved but unallocated")
    reserved = case.size("reserved by PyTorch") if unused is None else held + unused
    process = case.size("process memory")
    printed = {"allocated": held + tried, "reserved": reserved, "process": process}
    found = (_row(case, term, size) for term, size in printed.items() if size is not None)
    return tuple(row._replace(why=_WITH_FAILED) if tried and row.term == "allocated" and not row.why else row for row in found)


def _row(case: Case, term: str, printed: int) -> Row:
    found = case.estimate()
    if found is None:
        return Row(term, printed, None)
    place = found.fullest.place.id
    sizes = [entry.size for entry in found.entries if entry.place == place and entry.term not in _BESIDE[term]]
    low, best, high = Interval(*(sum(size[i] for size in sizes) for i in range(3)))
    return Row(term, printed, best, low, high, _why(case, term, found) if not low <= printed <= high else "")


def _why(case: Case, term: str, found: Estimate) -> str:
    """Why a figure is outside the interval."""
    if case.ending.sign == "loading":
        return "memory ran out before all of the model was loaded"
    if case.said.ctx is None:
        load = found.workload
        return f"the estimate is of {load.ctx_tokens:,} tokens x {load.batch}: --ctx and --batch say what ran"
    if term == "allocated" and case.ending.outcome == "oom":
        return "what was held when it failed, with what was asked for then; the estimate is of the whole run"
    return ""
