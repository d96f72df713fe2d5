"""What the interval of an estimate leaves open: an engine's refusal that rests on the best guess may not come."""

from kvplan.checker.case import Case, Tried
from kvplan.checker.reading import NEWEST
from kvplan.core.ledger import Refusal, Term
from kvplan.estimator import Estimate

_BY_POOL = ("profile", "kv_check")
_LARGE = ("KV105", "KV354")
_NO_ROOM = "KV350"  # for one token
_OF_START = ("KV104", *_LARGE)  # a share that is not free, weights that are more than the card


def is_open(estimate: Estimate, refusal: Refusal) -> bool:
    """Whether the bound that is kind to the engine lets it start."""
    if refusal.rule in _OF_START:
        return _starts(estimate, refusal)
    capacity = estimate.capacity
    if refusal.at not in _BY_POOL or capacity is None or capacity.max_concurrency is None:
        return False
    if refusal.rule == _NO_ROOM:
        return capacity.kv_tokens is not None and capacity.kv_tokens.high > 0
    return capacity.max_concurrency[2] >= 1


def is_assumed(case: Case, refusal: Refusal) -> bool:
    """Whether the engine's parser refuses, in a version that nobody named."""
    return refusal.at == "parse" and case.reading.version_from == NEWEST


def may_start(case: Case, tried: Tried | None, refusal: Refusal) -> bool:
    """Whether what kvplan can only bound or assume leaves open that the engine refuses."""
    estimate = tried.estimate if tried else None
    if is_assumed(case, refusal):
        return True
    return estimate is not None and is_open(estimate, refusal)


def is_certain(case: Case, tried: Tried) -> bool:
    """Whether the engine refuses whatever kvplan can only bound or assume."""
    return tried.estimate is not None and not all(may_start(case, tried, refusal) for refusal in tried.estimate.refusals)


def _starts(estimate: Estimate, refusal: Refusal) -> bool:
    """Whether the smallest context leaves as much of the card as is asked for."""
    place = estimate.fullest.place
    if place.usable_bytes is None or place.capacity_bytes is None:
        return False
    left = place.usable_bytes - _low(estimate, "runtime_context")
    if refusal.rule in _LARGE:
        return _low(estimate, "weights") <= left
    share = estimate.settings.get("gpu_memory_utilization")
    return isinstance(share, float) and share * place.capacity_bytes <= left


def _low(estimate: Estimate, term: Term) -> int:
    return sum(entry.size.low for entry in estimate.entries if entry.term == term and entry.place == estimate.fullest.place.id)
