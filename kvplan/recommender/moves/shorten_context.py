"""Shorten the context before quantizing the cache: it costs no quality, and the cache shrinks in proportion.

Source: claims 16 and 17 of the article on KV caches; vLLM docs, configuration/conserving_memory.md: max_model_len first.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 20
KNOBS = ("ctx_tokens",)
LOWERS = "needed"
EASES = True
SOURCE = "vLLM docs, configuration/conserving_memory.md"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """No more tokens than are asked for; the search then takes as many as fit."""
    if plan.ctx_tokens > case.least_ctx and case.may_turn("ctx_tokens"):
        yield plan._replace(ctx_tokens=case.least_ctx)


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """From how many to how many."""
    start = before.ctx_tokens if case.limit is None else min(before.ctx_tokens, case.limit)
    if after.ctx_tokens < start:
        message = f"a context of {after.ctx_tokens:,} tokens for {start:,}: the first thing to give up, it costs no quality"
        yield Finding("KV421", "note", message, "--ctx says how many a sequence must hold, --goal context seeks the most")
