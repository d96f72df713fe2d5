"""A request is longer than its slot."""

from kvplan.core.ledger import Finding, Fix
from kvplan.explainer.case import Case

SIGNS = ("slot_too_small",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV625",
        "warning",
        f"a request of {case.shown('request tokens')} exceeds the {case.shown('available context', 'n_ctx_slot')} of its slot",
        "-c is divided by -np: multiply it, take one slot, or let slots share it with --kv-unified",
        _ways(case),
    )


def _ways(case: Case) -> tuple[Fix, ...]:
    """A longer context for all slots, fewer slots, one cache for all."""
    slots, each = int(case.value("slots") or 1), case.value("n_ctx") or case.value("n_ctx_slot")
    if slots < 2 or each is None:
        return (Fix("-c", "" if each is None else str(int(each)), str(_rounded(case.value("request tokens") or 2 * (each or 4096)))),)
    size = case.size("KV cache", "KV buffer")
    more = None if size is None else size * (slots - 1)
    return (
        Fix("-np", str(slots), "1"),
        Fix("--kv-unified", "off", "on"),
        Fix("-c", str(int(each)), str(int(each) * slots), more),
    )


def _rounded(tokens: float) -> int:
    return -(-int(tokens) // 256) * 256
