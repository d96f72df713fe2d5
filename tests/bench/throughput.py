"""Scores predictions of speed against measured rows.

usage: python -m tests.bench.throughput [PATH_TO_TSV]

In scope: one stream, a fixed batch, the time between tokens and the time to the first one, where the row says model, precision,
card, lengths and batch. Bar: median error 25 % at most, 90 % inside the range, whose median high/low is 1.6 at most. Rows out of
scope are listed with why. A row's error is |predicted / measured − 1| of the measured quantity.
"""

import statistics
import sys
from pathlib import Path
from typing import NamedTuple

from kvplan import perf
from tests.bench.measured import MAX_LOAD, Case, cases

TSV = Path(__file__).parents[3] / "shared" / "facts" / "throughput.tsv"


class Scored(NamedTuple):
    """A case with its error and the range that was predicted."""

    case: Case
    error: float
    inside: bool
    width: float


def scored(case: Case) -> Scored:
    """The case predicted with the efficiencies as they are."""
    low, best, high = case.predicted(perf.performance(case.traffic, case.machine, case.demand, case.engine))
    return Scored(case, best / case.measured - 1, low <= case.measured <= high, high / low)


def _line(name: str, found: list[Scored]) -> str:
    errors = [abs(one.error) for one in found]
    inside = sum(one.inside for one in found) / len(found)
    width = statistics.median(one.width for one in found)
    return f"{name:34} {len(found):4}  {statistics.median(errors):7.1%}  {max(errors):7.1%}  {inside:7.0%}  {width:5.2f}"


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else TSV
    if not path.is_file():
        sys.stdout.write(f"skipped: {path} is not there\n")
        return
    found, left_out = cases(path)
    results = [scored(case) for case in found]
    write = sys.stdout.write
    write(f"{'kind':34} rows   median      max   inside  high/low\n")
    for kind in dict.fromkeys(one.case.kind for one in results):
        write(_line(kind, [one for one in results if one.case.kind == kind]) + "\n")
    counted = [one for one in results if one.case.kind != MAX_LOAD]
    write(_line("all but max load", counted) + "\nbar: median 25 %, 90 % inside, high/low 1.6; max load counts beside it\n\nworst\n")
    for one in sorted(results, key=lambda one: -abs(one.error))[:15]:
        case = one.case
        write(f"  {case.id} {case.kind:24} {case.gpu:16} {case.what:44} measured {case.measured:10.4g}  off by {one.error:+.0%}\n")
    write(f"\nout of scope: {len(left_out)} rows\n")
    for why in dict.fromkeys(why for _, why in left_out):
        names = [name for name, reason in left_out if reason == why]
        write(f"  {len(names):3} × {why} ({names[0]} …)\n")


if __name__ == "__main__":
    main()
