"""KV509: the container's memory limit is below what the server keeps on the host."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.quantity import kubernetes_bytes
from kvplan.checker.wording import found, gib
from kvplan.core.ledger import total

IDS = ("KV509",)


def check(case: Case) -> Iterator[Found]:
    """An error where what lies on the host, with the shared memory that counts as the container's, is certainly beyond the limit."""
    said = case.server.host_memory
    limit = kubernetes_bytes(said.text) if said else None
    if said is None or limit is None:
        return
    shared = kubernetes_bytes(case.server.shared_memory.text) if case.server.shared_memory else None
    for estimate in (tried.estimate for tried in case.tried if tried.estimate):
        host = total(entry.size for entry in estimate.entries if entry.place == "host")
        if host.low <= limit:
            continue
        beside = f", beside {gib(shared)} of /dev/shm" if shared else ""
        message = f"the container may hold {gib(limit)}, and {gib(host.best)} lie on the host{beside}"
        yield found("KV509", "error", case, (), message, "raise the memory limit, or offload less")._replace(
            line=said.line, column=said.column
        )
        return
