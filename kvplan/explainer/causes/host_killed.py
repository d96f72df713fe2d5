"""The host ran out of memory and the process was killed."""

from kvplan.core.ledger import Finding
from kvplan.explainer.case import Case

SIGNS = ("host_killed",)


def finding(case: Case) -> Finding:
    """What the log shows, and what cures it."""
    return Finding(
        "KV624",
        "error",
        f"the process was killed for the host's memory{case.suffix('prompt cache limit', '; its prompt cache may hold {}')}",
        "llama-server keeps saved prompts (--cache-ram, 8192 MiB by default) and 32 checkpoints a slot on the host; "
        "pods need weights plus that",
    )
