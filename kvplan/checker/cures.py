"""The smallest change that makes a server start which its engine refuses, where the estimate knows one."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.checker.case import Case, Tried
from kvplan.checker.split import HEADS
from kvplan.checker.wording import context_flags, spelled
from kvplan.core.ledger import Fix, Refusal
from kvplan.estimator import Estimate

_TOO_LONG = ("KV110", "KV351")  # for the model
_ONE_TOO_LARGE = ("KV102", "KV359")  # sequence, for the pool
_NO_ROOM = ("KV103", "KV105", "KV350", "KV354")
_STEP_TOKENS = 1024  # to which people round
_SHARE = "--gpu-memory-utilization"


class Cure(NamedTuple):
    """A hint in words, and the same as settings."""

    hint: str = ""
    fixes: tuple[Fix, ...] = ()


def of(case: Case, tried: Tried | None, refusal: Refusal) -> Cure:
    """What to change; nothing where the engine's own words say it."""
    estimate = tried.estimate if tried else None
    if refusal.rule == "KV140":
        return Cure(next((finding.hint for finding in case.parsed.findings if finding.rule == "KV210"), "") if case.parsed else "")
    if refusal.rule == "KV141":
        return Cure("-fa on, or keep V in f16", (Fix("-fa", "off", "on"),))
    if tried is None or estimate is None:
        return Cure()
    if refusal.rule == "KV104":
        return _smaller_share(estimate)
    if refusal.rule in HEADS:
        return _split(case, tried)
    longest = (
        estimate.model.max_ctx_tokens if refusal.rule in _TOO_LONG else estimate.capacity.max_ctx_tokens if estimate.capacity else None
    )
    if longest and refusal.rule in (*_TOO_LONG, *_ONE_TOO_LARGE):
        return _shorter(case, estimate, longest, certain(estimate, longest) if refusal.rule in _ONE_TOO_LARGE else longest)
    return _larger(case, tried, estimate) if refusal.rule in (*_ONE_TOO_LARGE, *_NO_ROOM) else Cure()


def _shorter(case: Case, estimate: Estimate, longest: int, sure: int) -> Cure:
    flag = context_flags(case.reading.engine)[0]
    before = case.reading.ctx_tokens or estimate.model.max_ctx_tokens
    after = sure or longest
    saved = -(estimate.kv.bytes_per_token * max(0, (before or after) - after))
    guess = f"{flag} {longest} "
    hint = f"{flag} {sure} starts for certain, {guess}by the best guess" if 0 < sure < longest else f"{guess}starts"
    return Cure(hint, (Fix(flag, str(before or "default"), str(after), saved),))


def certain(estimate: Estimate, longest: int) -> int:
    """The context that the smallest pool holds: what it may lack, at what one more token takes, is left out."""
    budget = estimate.capacity.kv_budget if estimate.capacity else None
    per_token = estimate.kv.marginal_bytes_per_token
    if budget is None or per_token <= 0:
        return longest
    return max(0, longest - -(-(budget.best - budget.low) // per_token)) // _STEP_TOKENS * _STEP_TOKENS


def _smaller_share(estimate: Estimate) -> Cure:
    """The share that is free beside the largest context, in hundredths."""
    place = estimate.fullest.place
    context = sum(entry.size.high for entry in estimate.entries if entry.term == "runtime_context" and entry.place == place.id)
    if not place.capacity_bytes or place.usable_bytes is None:
        return Cure()
    share = int((place.usable_bytes - context) / place.capacity_bytes * 100) / 100
    return Cure(f"{_SHARE} {share:g}", (Fix(_SHARE, str(estimate.settings.get("gpu_memory_utilization")), f"{share:g}"),))


def _split(case: Case, tried: Tried) -> Cure:
    if tried.tp is None:
        return Cure()
    flag = spelled(case.reading.engine).split
    return Cure(f"{flag} {tried.tp} starts", (Fix(flag, str(case.reading.tp), str(tried.tp)),))


def _larger(case: Case, tried: Tried, estimate: Estimate) -> Cure:
    """More of the same cards, or the smallest of others."""
    ways = list(_ways(case, tried, estimate))
    fixes = _split(case, tried).fixes
    return Cure("it starts " + ", or ".join(ways), fixes) if ways else Cure("a smaller quantization, or larger cards")


def _ways(case: Case, tried: Tried, estimate: Estimate) -> Iterator[str]:
    if tried.tp is not None and tried.gpu is not None:
        n = tried.tp * (case.reading.pp or 1) * (case.reading.dp or 1)
        yield f"with {spelled(case.reading.engine).split} {tried.tp} on {n} × {tried.gpu.gpu}"
    nodes = " or ".join(f"{node.n_devices} × {node.gpu}" for node in estimate.fits_on[:2])
    if nodes:
        yield f"as it is on {nodes}"
