"""A request is longer than its slot."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.llama_fixes import for_slots

SIGNS = ("slot_too_small",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV625",
        "warning",
        f"a request of {case.shown('request tokens')} exceeds the {case.shown('available context', 'n_ctx_slot')} of its slot",
        "-c is divided by -np: multiply it, take one slot, or let slots share it with --kv-unified",
        for_slots(case),
    )
