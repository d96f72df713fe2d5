"""Save no prompts in the host's memory where that is short: llama-server keeps up to 8 GiB of them.

Source: llama.cpp b11434 tools/server/README.md, --cache-ram.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 45
KNOBS = ("saved_prompts_mib",)
LOWERS = "needed"
EASES = True
SOURCE = "llama.cpp b11434 tools/server/README.md, --cache-ram"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """A quarter of it, then none."""
    if plan.saved_prompts_mib and case.may_turn("saved_prompts_mib"):
        yield from (plan._replace(saved_prompts_mib=less) for less in (plan.saved_prompts_mib // 4, 0))


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """From how much to how much."""
    if before.saved_prompts_mib and after.saved_prompts_mib is not None and after.saved_prompts_mib < before.saved_prompts_mib:
        message = f"up to {after.saved_prompts_mib:,} MiB of saved prompts for {before.saved_prompts_mib:,}: the host has no more to spare"
        yield Finding("KV432", "note", message, "a conversation that comes back is then computed again")
