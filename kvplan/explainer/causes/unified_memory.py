"""On unified memory, page cache and other processes count as used."""

from kvplan.core.ledger import Finding
from kvplan.core.units import GIB
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = (
    "no_pool",
    "pool_below_one_request",
)
_FOREIGN = 8 * GIB  # more than NCCL and kernels ever took


def applies(case: Case) -> bool:
    """Whether it is this, of what the sign may mean."""
    foreign = case.size("non-torch forward increase", "non-torch memory") or 0
    return case.is_unified or foreign > _FOREIGN


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV609",
        "error",
        f"the cache is left with {case.shown('available KV cache memory')} on memory that the processor shares: page cache "
        "and other processes count as used",
        "drop the page cache before the start (sync; echo 3 > /proc/sys/vm/drop_caches), or give --kv-cache-memory-bytes",
        fixes(case, "seqs", "more"),
    )
