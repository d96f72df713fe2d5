"""Quantize the weights to 8 bits before anything goes to 4: half the bytes, and next to no loss.

Source: claims 14 and 15 of the article on KV caches (weights before the cache); 8 bit before 4 bit.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan
from kvplan.recommender.rewriting import form

ORDER = 70
KNOBS = ("weights",)
LOWERS = "needed"
EASES = False
SOURCE = "vLLM docs, features/quantization/fp8.md; llama.cpp tools/quantize/README.md"
LEAST_BITS, MOST_BITS = 6, 9


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """Each form between 6 and 9 bits that has fewer than the plan's."""
    if not case.may_turn("weights"):
        return
    now = form(case, plan).bits
    for other in case.forms:
        if LEAST_BITS <= other.bits <= MOST_BITS and other.bits < now - 1:
            yield plan._replace(weights=other.name)


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """How it comes about."""
    now = form(case, after)
    if after.weights != before.weights and LEAST_BITS <= now.bits <= MOST_BITS:
        how = now.how or "made while it loads"
        yield Finding("KV427", "note", f"weights in {now.bits:g} bits ({after.weights}) before any in 4", how)
