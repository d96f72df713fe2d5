"""Never beyond the model's own limit: positions that it was not made for give nonsense, whatever fits.

Source: claim 17 of the article on KV caches (context above max_position_embeddings); vLLM refuses it by itself (KV110).
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 10
KNOBS = ("ctx_tokens",)
LOWERS = "needed"
EASES = False
SOURCE = "config.json, max_position_embeddings; vllm 0.33.0 config/model.py, _get_and_verify_max_len"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """The context at the limit, where it is beyond."""
    if case.limit is not None and plan.ctx_tokens > case.limit and case.may_turn("ctx_tokens"):
        yield plan._replace(ctx_tokens=case.limit)


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """What was beyond."""
    if case.limit is not None and before.ctx_tokens > case.limit >= after.ctx_tokens:
        message = f"{before.ctx_tokens:,} tokens are beyond the {case.limit:,} positions that {case.model.id} was made for"
        yield Finding("KV420", "note", message, "longer texts need a rope scaling that the model was trained with")
