"""KV500: needs more than the accelerator has."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found, Tried
from kvplan.checker.wording import context_flags, found, gib, on
from kvplan.core.ledger import Fix
from kvplan.estimator import Estimate


def check(case: Case) -> Iterator[Found]:
    """An error where even the lower bound of the need is beyond what is usable; engines that refuse by themselves said so."""
    for tried in case.tried:
        estimate = tried.estimate
        if estimate is None or estimate.refusals or (estimate.capacity and estimate.capacity.n_blocks is not None):
            continue  # a pool is asked by its engine at start
        usable = estimate.fullest.usable_bytes
        if usable is not None and estimate.needed.low > usable:
            yield _found(case, tried, estimate, usable)


def _found(case: Case, tried: Tried, estimate: Estimate, usable: int) -> Found:
    weights = sum(entry.size.best for entry in estimate.entries if entry.term == "weights" and entry.place == estimate.fullest.place.id)
    what = f"weights alone take {gib(weights)}" if weights > usable else f"it needs {gib(estimate.needed.best)}"
    message = f"does not fit {on(tried)}".rstrip() + f": {what}, {gib(usable)} are usable"
    hint, fixes = _cure(case, estimate)
    return found("KV500", "error", case, context_flags(case.reading.engine), message, hint, fixes)


def _cure(case: Case, estimate: Estimate) -> tuple[str, tuple[Fix, ...]]:
    longest = estimate.capacity.max_ctx_tokens if estimate.capacity else None
    slots = case.reading.concurrency or 1
    if longest and case.reading.engine in ("llama.cpp", "ollama"):
        flag = "num_ctx" if case.reading.engine == "ollama" else "-c"
        before = case.reading.ctx_tokens or estimate.workload.ctx_tokens
        return f"{flag} {longest * slots} fits", (
            Fix(flag, str(before), str(longest * slots), -(estimate.kv.bytes_per_token * (before - longest))),
        )
    nodes = " or ".join(f"{node.n_devices} × {node.gpu}" for node in estimate.fits_on[:2])
    return (f"it fits on {nodes}" if nodes else "a smaller quantization, a shorter context or a larger card"), ()
