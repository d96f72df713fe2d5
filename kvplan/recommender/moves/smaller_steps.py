"""Compute fewer tokens at once: activations, logits and the scratch of recurrent layers shrink with the step.

Source: vLLM docs, configuration/optimization.md (2,048 favors the time between tokens); on hybrids before the context.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 40
KNOBS = ("step_tokens",)
LOWERS = "needed"
EASES = True
SOURCE = "vLLM docs, configuration/optimization.md; llama.cpp b11434 tools/server/README.md, -ub"
_LEAST = 256


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """Half as many, and half of that, as long as each sequence still gets its token."""
    if not case.may_turn("step_tokens"):
        return
    tokens = plan.step_tokens
    while tokens // 2 >= max(_LEAST, plan.sequences):
        tokens //= 2
        yield plan._replace(step_tokens=tokens)


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """From how many to how many."""
    if 0 < after.step_tokens < before.step_tokens:
        message = f"{after.step_tokens:,} tokens a step for {before.step_tokens:,}: smaller activations, longer prefills"
        yield Finding("KV423", "note", message, "throughput of long prompts falls; the time between tokens does not")
