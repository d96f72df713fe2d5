"""Markdown for a job's summary or a comment on a pull request."""

from kvplan.checker.case import Case, Found
from kvplan.checker.report import Report
from kvplan.core.units import GIB
from kvplan.render.checked import row

NAME = "markdown"
_SIGNS = {"error": "❌", "warning": "⚠️", "note": "ℹ️"}
_VERDICTS = {"fits": "fits", "tight": "tight", "does_not_fit": "**does not fit**", "unknown": "unknown"}


def render(report: Report) -> str:
    """A table of findings and one of servers."""
    parts = ["## kvplan check"]
    if report.found:
        rows = "\n".join(_finding(one) for one in report.found)
        parts.append(f"| | rule | where | what |\n|---|---|---|---|\n{rows}")
    else:
        parts.append("No findings.")
    if report.cases:
        rows = "\n".join(_server(case) for case in report.cases)
        parts.append(
            f"| server | engine | model | context | GPU | needed | usable | verdict |\n|---|---|---|---:|---|---:|---:|---|\n{rows}"
        )
    return "\n\n".join(parts) + "\n"


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
    plain = " ".join(text.split())
    for sign in "\\|`*_[]":
        plain = plain.replace(sign, f"\\{sign}")
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace("@", "&#64;")


def code(text: str) -> str:
    """Text as code, on one line of a table."""
    return f"`{' '.join(text.split()).replace('`', chr(39)).replace('|', chr(92) + '|')}`"
