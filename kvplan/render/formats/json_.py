"""The contract's JSON."""

from kvplan.checker.case import Case, Found
from kvplan.checker.changes import Change, Diff, Upgrade
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
            "diff": _diff(report.diff) if report.diff else None,
        }
    )


def _deployment(case: Case) -> dict[str, object]:
    found = row(case)
    return {**found._asdict(), "unresolved": list(found.unresolved)}


def _diff(diff: Diff) -> dict[str, object]:
    return {
        "base": diff.base,
        "revision": diff.revision,
        "changes": [_change(change) for change in diff.changes],
        "n_unchanged": diff.n_unchanged,
        "n_known_findings": diff.n_known,
        "cured": [_finding(one) for one in diff.cured],
    }


def _change(change: Change) -> dict[str, object]:
    return {
        "change": change.kind,
        "decided_by": change.decided_by,
        "before": _deployment(change.before) if change.before else None,
        "after": _deployment(change.after) if change.after else None,
        "upgrade": _upgrade(change.upgrade) if change.upgrade else None,
        "brought": [_finding(one) for one in change.brought],
        "cured": [_finding(one) for one in change.cured],
    }


def _upgrade(upgrade: Upgrade) -> dict[str, object]:
    return {
        "engine": upgrade.engine,
        "from": upgrade.before,
        "to": upgrade.after,
        "is_known": upgrade.is_known,
        "figures": [{"name": one.name, "from": one.before, "to": one.after} for one in upgrade.figures],
        "terms": [{"name": one.name, "from": one.before, "to": one.after} for one in upgrade.terms],
    }


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
