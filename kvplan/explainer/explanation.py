"""The answer of ``kvplan explain LOG``."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from kvplan import _discover
from kvplan.core.errors import RequestError
from kvplan.core.ledger import Finding, Fix
from kvplan.explainer import asked, causes, lines, reading
from kvplan.explainer.case import Case, Said
from kvplan.explainer.ledger import ledger
from kvplan.explainer.outcome import Outcome, ending
from kvplan.explainer.reading import Reading
from kvplan.explainer.record import Figure
from kvplan.explainer.row import Row
from kvplan.specs.files import stdin, unreadable

NOTHING = Said()


class Before(NamedTuple):
    """An earlier start in the same log."""

    start: int
    line: int
    version: str | None
    outcome: Outcome
    cause: str | None


class Explanation(NamedTuple):
    """What a log says: whose it is, how its last start ended, why, and what to change; figures of all starts, with their lines."""

    engine: str | None
    version: str | None
    model: str | None
    gpu: str | None
    settings: Mapping[str, str]
    figures: tuple[Figure, ...]
    ledger: tuple[Row, ...]
    outcome: Outcome
    cause: str | None
    findings: tuple[Finding, ...]
    earlier: tuple[Before, ...]
    n_lines: int

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """What to change, the first to try first."""
        return tuple(fix for finding in self.findings for fix in finding.fixes)


def explain(
    log: str, *, model: str | None = None, gpu: str | None = None, ctx: int | str | None = None, batch: int | str | None = None
) -> Explanation:
    """What the log in the file ``log`` says (``-`` is stdin); ``model`` and ``gpu`` where it does not name them, tokens of one sequence
    and sequences at once of a run of Transformers, which no traceback says.

    Reads line by line, so that a log of any length takes little memory. Raises RequestError for a file that can't be read or is
    empty, and for a model or GPU that there is none.
    """
    asked.check(model, gpu)
    said = Said(model, gpu, None if ctx is None else str(ctx), None if batch is None else str(batch))
    try:
        if log == "-":
            found = of_blocks(lines.blocks(stdin()), said)
        else:
            with Path(log).open("rb") as file:
                found = of_blocks(lines.blocks(file), said)
    except (OSError, ValueError) as problem:  # ValueError: a path with a NUL
        raise unreadable(log, problem) from None
    if not found.n_lines:
        raise RequestError(
            "bad_file", f"{'<stdin>' if log == '-' else log}: the log is empty", hint="docker logs NAME 2>&1 | kvplan explain -"
        )
    return found


def of_blocks(blocks: Iterable[bytes], said: Said = NOTHING) -> Explanation:
    """What a log in these blocks of whole lines says."""
    found = reading.read(blocks)
    cases = [Case(found.engine, start, ending(start), said) for start in found.starts]
    return _explained(found, cases)


def _explained(found: Reading, cases: list[Case]) -> Explanation:
    last = cases[-1]
    findings = tuple(finding for finding in (diagnosis(last), _newly_failing(cases)) if finding is not None)
    earlier = tuple(
        Before(case.start.number, case.start.line, case.version, case.ending.outcome, _rule(diagnosis(case))) for case in cases[:-1]
    )
    return Explanation(
        engine=found.engine,
        version=last.version,
        model=last.model,
        gpu=last.gpu,
        settings=last.settings,
        figures=tuple(figure for case in cases for figure in case.start.every()),
        ledger=ledger(last),
        outcome=last.ending.outcome,
        cause=_rule(findings[0] if findings else None),
        findings=findings,
        earlier=earlier,
        n_lines=found.n_lines,
    )


def _rule(finding: Finding | None) -> str | None:
    return None if finding is None else finding.rule


def diagnosis(case: Case) -> Finding | None:
    """The cause that the signs of ``case`` point at: one that looks at more than the sign comes before one that does not."""
    pointed = _pointed_at().get(case.ending.sign, ())
    for module in pointed:
        if hasattr(module, "applies") and module.applies(case):
            return _finding(module, case)
    plain = next((module for module in pointed if not hasattr(module, "applies")), None)
    return None if plain is None else _finding(plain, case)


def _finding(module: ModuleType, case: Case) -> Finding:
    found: Finding = module.finding(case)
    return found


@cache
def _pointed_at() -> dict[str, tuple[ModuleType, ...]]:
    """The causes of each sign."""
    found: dict[str, tuple[ModuleType, ...]] = {}
    for module in _discover.modules(causes.__name__).values():
        for sign in module.SIGNS:
            found[sign] = (*found.get(sign, ()), module)
    return found


def _newly_failing(cases: list[Case]) -> Finding | None:
    """Another version ran in the same log: its defaults are the first thing to compare."""
    last = cases[-1]
    before = [case for case in cases[:-1] if case.ending.outcome == "ran" and case.version not in (None, last.version)]
    if last.version is None or not before or last.ending.outcome not in ("refused", "oom"):
        return None
    return Finding(
        "KV611",
        "note",
        f"version {before[-1].version} ran in this log and {last.version} did not: defaults differ between them",
        "set the old values: max_num_seqs (1024 on large cards from 0.9), max_num_batched_tokens, graphs; "
        "`kvplan estimate` of both versions shows where the bytes differ",
    )
