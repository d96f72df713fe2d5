"""A question to the recommender as people type it."""

from typing import TYPE_CHECKING, NamedTuple

from kvplan.core.errors import RequestError, did_you_mean
from kvplan.estimator import Options
from kvplan.estimator.options import in_words as options_in_words
from kvplan.recommender.case import GOALS

if TYPE_CHECKING:
    from kvplan.estimator.options import Keywords


class Request(NamedTuple):
    """``options`` are those of an estimate: ``ctx`` and ``batch`` in it are the least that must be served. ``keep`` are flags that stay.

    ``prices`` are those of an hour of each card that may be rented, by id.
    """

    options: Options
    goal: str | None = None
    keep: tuple[str, ...] = ()
    prices: tuple[tuple[str, float], ...] = ()


def in_words(model: str, options: "Keywords", *, goal: str | None, keep: str) -> Request:
    """The request that keywords make. Raises RequestError for a goal that there is not."""
    if goal is not None and goal not in GOALS:
        raise RequestError("bad_goal", f"--goal {goal}: no such goal", hint=did_you_mean(goal, GOALS) or f"known: {', '.join(GOALS)}")
    return Request(options_in_words(model, options), goal, tuple(filter(None, keep.split(","))))
