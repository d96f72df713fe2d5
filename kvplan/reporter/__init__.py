"""Gathers what a sizing report shows: estimates with the charts around them, and the results of other commands."""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.comparer import Side
from kvplan.core.errors import RequestError
from kvplan.reporter.results import Result
from kvplan.reporter.surroundings import Line, Rung, Subject, surrounded

__all__ = ["Line", "Report", "Result", "Rung", "Subject", "report"]


class Report(NamedTuple):
    """``command`` makes the report again; ``results`` are what other commands answered."""

    command: tuple[str, ...]
    subjects: tuple[Subject, ...]
    results: tuple[Result, ...]


def report(asked: tuple[Side, ...], results: tuple[Result, ...], command: tuple[str, ...], *, probe: bool = False) -> Report:
    """The report on ``asked`` and ``results``. Raises KvplanError for a wrong request, also where both are empty."""
    if not asked and not results:
        raise RequestError("usage", "nothing to report on", hint="kvplan report llama-3.1-8b --gpu l4 -o report.html")
    return Report(command, tuple(surrounded(side, probe=probe) for side in asked), results)


def is_result(found: object) -> bool:
    """Whether parsed JSON is an answer of kvplan's."""
    return isinstance(found, Mapping) and "schema_version" in found and "kvplan" in found
