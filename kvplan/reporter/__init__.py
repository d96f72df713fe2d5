"""Gathers what a sizing report shows: estimates with the charts around them, and the results of other commands."""

from typing import NamedTuple

from kvplan.comparer import Side
from kvplan.core.errors import RequestError
from kvplan.reporter.results import Result
from kvplan.reporter.surroundings import Line, Rung, Subject, surrounded

__all__ = ["Line", "Report", "Result", "Rung", "Subject", "report"]


class Report(NamedTuple):
    """``results`` are what other commands answered; ``command`` makes the report again."""

    subjects: tuple[Subject, ...]
    results: tuple[Result, ...]
    command: tuple[str, ...] = ()


def report(asked: tuple[Side, ...], results: tuple[Result, ...], *, probe: bool = False) -> Report:
    """The report on ``asked`` and ``results``. Raises KvplanError for a wrong request, also where both are empty."""
    if not asked and not results:
        raise RequestError("usage", "nothing to report on", hint="kvplan report llama-3.1-8b --gpu l4 -o report.html")
    return Report(tuple(surrounded(side, probe=probe) for side in asked), results)
