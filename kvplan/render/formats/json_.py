"""The contract's JSON."""

from kvplan.checker.case import Case, Found
from kvplan.checker.report import Report
from kvplan.render.checked import row
from kvplan.render.envelope import document
from kvplan.render.json_ import fix as shown

NAME = "json"


def render(report: Report) -> str:
    """Every server, also the good and the unresolvable ones, and every finding."""
    return document(
        {
            "deployments": [_deployment(case) for case in report.cases],
            "findings": [_finding(one) for one in report.found],
            "suppressed": [{**_finding(one.found), "reason": one.reason} for one in report.suppressed],
            "n_files": report.n_files,
        }
    )


def _deployment(case: Case) -> dict[str, object]:
    found = row(case)
    return {**found._asdict(), "unresolved": list(found.unresolved)}


def _finding(one: Found) -> dict[str, object]:
    return {
        "rule": one.rule,
        "level": one.level,
        "file": one.file,
        "line": one.line,
        "column": one.column,
        "deployment": one.server.name if one.server else None,
        "message": one.message,
        "hint": one.hint,
        "fixes": [shown(fix) for fix in one.fixes],
    }
