"""Keep the cache in 8 bits for long contexts or many users; in 16 bits for code and mathematics (``--goal quality``).

Source: claims 13 to 15 of the article on KV caches; the measurements in ``kvplan/recommender/quality.py``. Never in 4 bits unasked:
long reasoning falls apart there (gpt-oss-120b, AIME 2025: 0.753 in 16 bits, 0.353 in 4).
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import AUTO, Plan

ORDER = 80
KNOBS = ("cache",)
LOWERS = "needed"
EASES = False
SOURCE = "vLLM docs, features/quantization/quantized_kvcache.md; llama.cpp PR 7412"
WORTH_TOKENS = 7000


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """The 8-bit types of a cache in 16, unless quality is the goal."""
    if plan.cache == AUTO and case.goal != "quality" and case.may_turn("cache"):
        yield from (plan._replace(cache=name) for name in case.dialect.caches(case))


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """What it gives, and where it gives little."""
    if before.cache == AUTO != after.cache:
        little = "" if after.ctx_tokens >= WORTH_TOKENS else f"; it gains little below about {WORTH_TOKENS:,} tokens"
        message = f"the cache in 8 bits ({after.cache}): nearly twice the tokens{little}"
        yield Finding("KV428", "note", message, "compare answers with known ones first; keep 16 bits for code and mathematics")
