"""How fast a plan is, where the estimator knows."""

from kvplan.estimator import Estimate


def tokens_per_s(found: Estimate) -> float | None:
    """Tokens that all sequences together write in a second."""
    return None if found.performance is None else found.performance.decode_tokens_per_s.best


def seconds_per_token(found: Estimate) -> float | None:
    """From one token of a sequence to the next."""
    return None if found.performance is None else found.performance.tpot_s.best
