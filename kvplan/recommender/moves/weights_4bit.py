"""Quantize the weights to about 4 bits where 8 don't do: a quarter of the bytes, a loss that shows in long reasoning.

Source: llama.cpp tools/quantize/README.md; 8 bit before 4 bit, weights before the cache.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan
from kvplan.recommender.rewriting import form

ORDER = 90
KNOBS = ("weights",)
LOWERS = "needed"
EASES = False
SOURCE = "llama.cpp tools/quantize/README.md; vLLM docs, features/quantization/bnb.md and auto_awq.md"
MOST_BITS = 6


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """Each form below 6 bits that has fewer than the plan's."""
    if not case.may_turn("weights"):
        return
    now = form(case, plan).bits
    for other in case.forms:
        if other.bits < min(MOST_BITS, now - 1):
            yield plan._replace(weights=other.name)


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """How it comes about."""
    now = form(case, after)
    if after.weights != before.weights and now.bits < MOST_BITS:
        how = now.how or "made while it loads"
        message = f"weights in about {now.bits:g} bits ({after.weights}): more bits do not fit here, or leave too little to the cache"
        yield Finding("KV429", "note", message, how)
