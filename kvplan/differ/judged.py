"""Whether a server got better or worse, and what says so: findings first, then the verdict, then what it holds, then what it needs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.checker.case import Case, Found
from kvplan.checker.changes import Kind
from kvplan.checker.judge import UNKNOWN
from kvplan.checker.report import LEVELS
from kvplan.checker.verdicts import ORDER, verdict, worst
from kvplan.estimator import Estimate

_NOISE = 0.01  # of a figure: less is nobody's concern


def verdict_of(case: Case) -> str:
    """The word for the accelerator that is worst."""
    return verdict(case, worst(case))


def figures(case: Case) -> tuple[object, ...]:
    """What a check says of the server in numbers."""
    tried = worst(case)
    found = tried.estimate if tried else None
    return (verdict_of(case), None if found is None else (found.fullest.usable_bytes, *(figure(found) for _, figure, _ in _FIGURES)))


def judged(before: Case, now: Case, brought: Sequence[Found], cured: Sequence[Found]) -> tuple[Kind, str | None]:
    """The kind of change and the rule or figure that decides; a server whose memory is not known on one side can't be judged by it."""
    bad, good = _telling(brought), _telling(cured)
    if bad:
        return "worse", bad[0].rule
    first, last = worst(before), worst(now)
    old, new = (tried.estimate if tried else None for tried in (first, last))
    if old is None or new is None:
        return "unresolvable", None
    ranks = ORDER.index(verdict(before, first)), ORDER.index(verdict(now, last))
    if ranks[0] != ranks[1] and "unknown" not in (ORDER[ranks[0]], ORDER[ranks[1]]):
        return ("worse" if ranks[1] < ranks[0] else "better"), "verdict"
    if good:
        return "better", good[0].rule
    return _by_figures(old, new)


def _telling(found: Sequence[Found]) -> list[Found]:
    """Errors, then warnings; not what is said of servers that nothing is known of."""
    told = [one for one in found if one.level != "note" and one.rule not in UNKNOWN]
    return sorted(told, key=lambda one: LEVELS.index(one.level))


def _concurrency(found: Estimate) -> float | None:
    pool = found.capacity.max_concurrency if found.capacity else None
    return pool[1] if pool else None


def _tokens(found: Estimate) -> float | None:
    return found.capacity.kv_tokens.best if found.capacity and found.capacity.kv_tokens else None


def _needed(found: Estimate) -> float | None:
    return found.needed.best


_FIGURES = (("max_concurrency", _concurrency, 1), ("kv_tokens", _tokens, 1), ("needed_bytes", _needed, -1))


def _by_figures(old: Estimate, new: Estimate) -> tuple[Kind, str | None]:
    """By the first figure that differs by more than noise: sequences of the longest at once, tokens of the pool.

    Bytes needed tell where there is no pool; where there is one, they come out of it, and it says what is left.
    """
    for name, figure, sign in _FIGURES if None in (_concurrency(old), _concurrency(new)) else _FIGURES[:2]:
        was, is_now = figure(old), figure(new)
        if was is not None and is_now is not None and abs(is_now - was) > _NOISE * max(was, is_now):
            return ("better" if sign * (is_now - was) > 0 else "worse"), name
    return "neutral", None


class Split(NamedTuple):
    """Findings that a change brought (new, or at a higher level), that it cured, and that were there before."""

    brought: list[Found]
    cured: list[Found]
    known: list[Found]


def split(before: Sequence[Found], now: Sequence[Found], renamed: Mapping[str, str]) -> Split:
    """Those of one server, or of files; as many of a rule as there are. ``renamed`` are files by their names before."""
    waiting: dict[tuple[str, str], list[Found]] = {}
    for one in before:
        waiting.setdefault((one.rule, "" if one.server else renamed.get(one.file, one.file)), []).append(one)
    found = Split([], [], [])
    for one in now:
        old = waiting.get((one.rule, "" if one.server else one.file), [])
        risen = not old or LEVELS.index(one.level) < LEVELS.index(old[0].level)
        (found.brought if risen else found.known).append(one)
        del old[:1]
    found.cured.extend(one for left in waiting.values() for one in left)
    return found
