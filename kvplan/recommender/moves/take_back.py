"""Take back what a command gave up and has room for: steps without graphs, a cache in 8 bits.

Source: vLLM docs, configuration/conserving_memory.md: ``--enforce-eager`` and an 8-bit cache are for memory that is short.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import AUTO, Plan

ORDER = 125
KNOBS = ("graphs", "cache")
LOWERS = None
EASES = False
SOURCE = "vLLM docs, configuration/conserving_memory.md"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """With graphs, with a cache in 16 bits, with both, of a command that fits as it is."""
    if not case.pasted or case.first.verdict != "fits" or plan != case.start:
        return
    graphs = plan._replace(graphs=True) if case.may_turn("graphs") else plan
    cache = plan._replace(cache=AUTO) if case.may_turn("cache") else plan
    both = graphs._replace(cache=cache.cache)
    yield from dict.fromkeys(other for other in (graphs, cache, both) if other != plan)


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """What such a command gives away; said of what is proposed as it is, too."""
    if not case.pasted or case.first.verdict != "fits":
        return
    if not before.graphs and case.may_turn("graphs"):
        yield Finding(
            "KV436",
            "note",
            "no CUDA graphs: small batches decode slower, by up to half",
            "leave --enforce-eager out where memory is not short",
        )
