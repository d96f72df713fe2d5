"""What the engine itself would refuse at start: its own words, under its own id."""

from collections.abc import Iterator

from kvplan.checker import cures, split
from kvplan.checker.bounds import is_assumed, is_open, may_start
from kvplan.checker.case import Case, Found, Tried
from kvplan.checker.wording import assumed, context_flags, found, on, spelled
from kvplan.core.ledger import Refusal
from kvplan.estimator import Estimate

_BY_MEMORY = ("load", "profile", "kv_check", "capture")
_LARGE, _NOTHING_LEFT = "KV105", "KV103"  # weights that are too large leave nothing for the pool: one problem


def check(case: Case) -> Iterator[Found]:
    """One error a refusal; a warning where the interval, or a version that is assumed, leaves open whether the engine refuses."""
    if case.parsed is not None and not any(tried.estimate for tried in case.tried):
        yield from (_found(case, None, refusal) for refusal in case.parsed.refusals)
    for tried in case.tried:
        if tried.estimate:
            said = _said_twice(tried.estimate)
            yield from (_found(case, tried, refusal) for refusal in tried.estimate.refusals if refusal.rule != said)


def _said_twice(estimate: Estimate) -> str | None:
    """The rule that says less of the same problem: nothing left, unless it is certain and the size of the weights is not."""
    found = {refusal.rule: refusal for refusal in estimate.refusals}
    if not found.keys() >= {_LARGE, _NOTHING_LEFT}:
        return None
    return _LARGE if is_open(estimate, found[_LARGE]) and not is_open(estimate, found[_NOTHING_LEFT]) else _NOTHING_LEFT


def _found(case: Case, tried: Tried | None, refusal: Refusal) -> Found:
    cure = cures.of(case, tried, refusal)
    may = may_start(case, tried, refusal)
    where = on(tried) if tried and refusal.at in _BY_MEMORY else assumed(case) if is_assumed(case, refusal) else ""
    said = f"{case.reading.engine} {'may refuse' if may else 'refuses'} {where}".rstrip()
    message = f"{said}: {refusal.text}"
    return found(refusal.rule, "warning" if may else "error", case, _flags(case, refusal), message, cure.hint, cure.fixes)


def _flags(case: Case, refusal: Refusal) -> tuple[str, ...]:
    if refusal.at == "kv_check":
        return (*context_flags(case.reading.engine), spelled(case.reading.engine).share)
    if refusal.rule in split.HEADS:
        return (spelled(case.reading.engine).split, "-tp", "--tp")
    words = {word.lstrip("-") for word in refusal.text.replace("`", " ").replace("(", " ").replace("_", "-").split()}
    return tuple(
        word.text.partition("=")[0]
        for word in case.server.command
        if word.text.startswith("-") and word.text.lstrip("-").partition("=")[0].replace("_", "-") in words
    )
