"""Markdown for a job's summary or a comment on a pull request."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.changes import Diff
from kvplan.checker.report import Report
from kvplan.core.units import GIB
from kvplan.render.changed import CELLS, cells, summed, upgrades
from kvplan.render.checked import row
from kvplan.render.plain import plain

NAME = "markdown"
_SIGNS = {"error": "❌", "warning": "⚠️", "note": "ℹ️"}
_KINDS = {
    **{"worse": "🔺 **worse**", "unresolvable": "❔ unresolvable", "new": "🆕 new", "better": "✅ better"},
    **{"neutral": "neutral", "removed": "removed"},
}
_VERDICTS = {"fits": "fits", "tight": "tight", "does_not_fit": "**does not fit**", "unknown": "unknown"}


def render(report: Report) -> str:
    """A table of findings and one of servers; of a diff what is new, and the servers that differ."""
    diff = report.diff
    parts = [f"## kvplan check: {cell(summed(diff))}" if diff else "## kvplan check"]
    if report.found:
        rows = "\n".join(_finding(one) for one in report.found)
        parts.append(f"| | rule | where | what |\n|---|---|---|---|\n{rows}")
    else:
        parts.append("No new findings." if diff else "No findings.")
    if diff:
        parts += _diff(diff)
    elif report.cases:
        rows = "\n".join(_server(case) for case in report.cases)
        parts.append(
            f"| server | engine | model | context | GPU | needed | usable | verdict |\n|---|---|---|---:|---|---:|---:|---|\n{rows}"
        )
    return "\n\n".join(parts) + "\n"


def _diff(diff: Diff) -> Iterator[str]:
    """The servers that differ, worst first, what new versions do, and the findings that are gone."""
    if diff.changes:
        rows = "\n".join(f"| {_KINDS[change.kind]} | {' | '.join(map(cell, cells(change)[1:]))} |" for change in diff.changes)
        yield f"| {' | '.join(('', *CELLS[1:]))} |\n|{'---|' * 5}{'---:|' * (len(CELLS) - 6)}---|\n{rows}"
    yield from (f"- {cell(line)}" for line in upgrades(diff))
    if diff.cured:
        rows = "\n".join(f"- `{one.rule}` {code(f'{one.file}:{one.line}')} {cell(one.message)}" for one in diff.cured)
        yield f"<details><summary>{len(diff.cured)} cured</summary>\n\n{rows}\n\n</details>"


def _finding(one: Found) -> str:
    what = cell(f"{one.message} — {one.hint}" if one.hint else one.message)
    return f"| {_SIGNS[one.level]} {one.level} | `{one.rule}` | {code(f'{one.file}:{one.line}')} | {what} |"


def _server(case: Case) -> str:
    found = row(case)
    context = "" if found.ctx_tokens is None else f"{found.ctx_tokens:,}"
    gpu = "" if found.gpu is None else f"{found.n_gpus or 1} × {found.gpu}"
    needed, usable = _size(found.needed_bytes), _size(found.usable_bytes)
    names = f"{code(f'{found.file}:{found.line}')} | {cell(found.engine or '')} | {code(found.model) if found.model else ''}"
    return f"| {names} | {context} | {gpu} | {needed} | {usable} | {_VERDICTS[found.verdict]} |"


def _size(n_bytes: int | None) -> str:
    return "" if n_bytes is None else f"{n_bytes / GIB:.2f} GiB"


def cell(text: str) -> str:
    """Text that stays text: what Markdown or HTML would read otherwise is escaped."""
    said = plain(" ".join(text.split()))
    for sign in "\\|`*_[]":
        said = said.replace(sign, f"\\{sign}")
    return said.replace("&", "&amp;").replace("<", "&lt;").replace("@", "&#64;")


def code(text: str) -> str:
    """Text as code, on one line of a table."""
    return f"`{plain(' '.join(text.split())).replace('`', chr(39)).replace('|', chr(92) + '|')}`"
