"""Put the fixed parts of a prompt first: what requests share from their first token on is computed and kept once.

Source: claim 25 of the article on KV caches; vLLM docs, design/prefix_caching.md: full blocks, keyed by all tokens before them.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 120
KNOBS: tuple[str, ...] = ()
LOWERS = None
EASES = False
SOURCE = "vLLM docs, design/prefix_caching.md"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """None: it is advice for whoever writes the prompts."""
    return iter(())


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """Always, where prefixes are kept."""
    if case.first.settings.get("prefix_caching"):
        message = "put tools, system text and documents first, what changes last: a prefix that requests share is kept once"
        yield Finding("KV434", "note", message, "no dates, ids or names of users early in the prompt")
