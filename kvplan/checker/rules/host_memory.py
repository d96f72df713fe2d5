"""KV509: the container's memory limit is below what the server keeps on the host."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.quantity import kubernetes_bytes
from kvplan.checker.wording import found, gib
from kvplan.core.ledger import exactly, total
from kvplan.estimator import Estimate


def check(case: Case) -> Iterator[Found]:
    """An error where what lies on the host, with the shared memory that counts as the container's, is certainly beyond the limit."""
    said = case.server.host_memory
    limit = kubernetes_bytes(said.text) if said else None
    if said is None or limit is None:
        return
    shared = kubernetes_bytes(case.server.shared_memory.text) if case.server.shared_memory else None
    for estimate in (tried.estimate for tried in case.tried if tried.estimate):
        host = total((*(entry.size for entry in estimate.entries if entry.place == "host"), exactly(_pinned(estimate))))
        if host.low <= limit:
            continue
        beside = f", beside {gib(shared)} of /dev/shm" if shared else ""
        message = f"the container may hold {gib(limit)}, and {gib(host.best)} lie on the host{beside}"
        yield found("KV509", "error", case, (), message, "raise the memory limit, or offload less")._replace(
            line=said.line, column=said.column
        )
        return


def _pinned(estimate: Estimate) -> int:
    """What vLLM takes of the host for its cache whatever the load: the tier that offloads, and V0's swap space on each GPU."""
    offloaded, swapped, tp = (_number(estimate, name) for name in ("kv_offloading_bytes", "swap_space_bytes", "tp"))
    return offloaded + swapped * max(1, tp)


def _number(estimate: Estimate, name: str) -> int:
    value = estimate.settings.get(name)
    return value if isinstance(value, int) else 0
