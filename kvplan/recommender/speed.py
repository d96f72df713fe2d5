"""How fast a plan is, where the estimator knows."""

from typing import TYPE_CHECKING

from kvplan.estimator import Estimate

if TYPE_CHECKING:
    from kvplan.perf import Performance


def performance(found: Estimate) -> "Performance | None":
    """TTFT, TPOT, tokens and requests a second, as ranges."""
    known: Performance | None = getattr(found, "performance", None)
    return known


def tokens_per_s(found: Estimate) -> float | None:
    """Tokens that all sequences together write in a second."""
    known = performance(found)
    return None if known is None else known.decode_tokens_per_s.best


def seconds_per_token(found: Estimate) -> float | None:
    """From one token of a sequence to the next."""
    known = performance(found)
    return None if known is None else known.tpot_s.best
