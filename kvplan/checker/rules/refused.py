"""What the engine itself would refuse at start: its own words, under its own id."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found, Tried
from kvplan.checker.wording import context_flags, found, on
from kvplan.core.ledger import Fix, Refusal

IDS: tuple[str, ...] = ()  # the engines' ids, whose pages are the engines'
_BY_MEMORY = ("profile", "kv_check")


def check(case: Case) -> Iterator[Found]:
    """One error a refusal; a warning where the estimate's interval leaves open whether the engine refuses."""
    for tried in case.tried:
        for refusal in tried.estimate.refusals if tried.estimate else ():
            yield _found(case, tried, refusal)


def _found(case: Case, tried: Tried, refusal: Refusal) -> Found:
    hint, fixes = _cure(case, tried, refusal)
    open_, who = _is_open(tried, refusal), case.reading.engine
    said = f"{who} {'may refuse' if open_ else 'refuses'} {on(tried)}".rstrip()
    return found(refusal.rule, "warning" if open_ else "error", case, _flags(case, refusal), f"{said}: {refusal.text}", hint, fixes)


def _is_open(tried: Tried, refusal: Refusal) -> bool:
    """Whether the upper bound of the budget would hold one sequence."""
    capacity = tried.estimate.capacity if tried.estimate else None
    if refusal.at not in _BY_MEMORY or capacity is None or capacity.max_concurrency is None:
        return False
    return capacity.max_concurrency[2] >= 1


def _flags(case: Case, refusal: Refusal) -> tuple[str, ...]:
    if refusal.at == "kv_check":
        return (*context_flags(case.reading.engine), "--gpu-memory-utilization")
    words = {word.lstrip("-") for word in refusal.text.replace("`", " ").replace("(", " ").replace("_", "-").split()}
    return tuple(
        word.text.partition("=")[0]
        for word in case.server.command
        if word.text.startswith("-") and word.text.lstrip("-").partition("=")[0].replace("_", "-") in words
    )


def _cure(case: Case, tried: Tried, refusal: Refusal) -> tuple[str, tuple[Fix, ...]]:
    """The smallest change that makes it start, where the estimate knows one."""
    estimate = tried.estimate
    if estimate is None:
        return "", ()
    if refusal.at == "kv_check" and estimate.capacity is not None and estimate.capacity.max_ctx_tokens:
        longest, flag = estimate.capacity.max_ctx_tokens, context_flags(case.reading.engine)[0]
        before = case.reading.ctx_tokens or estimate.model.max_ctx_tokens
        saved = -(estimate.kv.bytes_per_token * max(0, (before or longest) - longest))
        return f"{flag} {longest} starts", (Fix(flag, str(before or "default"), str(longest), saved),)
    if estimate.fits_on:
        nodes = " or ".join(f"{node.n_devices} × {node.gpu}" for node in estimate.fits_on[:2])
        return f"it fits on {nodes}", ()
    return "", ()
