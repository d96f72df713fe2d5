"""Each running sequence of a hybrid model takes a block for its state."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case
from kvplan.explainer.fixes import fixes

SIGNS = ("state_blocks",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV608",
        "error",
        f"{case.number('max_num_seqs')} sequences may run at once, and the pool has "
        f"{case.shown('available Mamba cache blocks')} for their states",
        "set max_num_seqs to the printed number of blocks, or below",
        fixes(case, "seqs", "ctx", "more"),
    )
