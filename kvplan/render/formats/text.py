"""For people: each finding with its source line and a caret, then every server that was checked."""

from collections.abc import Sequence

from kvplan.checker.case import Case, Found
from kvplan.checker.changes import Diff
from kvplan.checker.report import Report
from kvplan.core.units import GIB
from kvplan.render.changed import CELLS, cells, counted, summed, upgrades
from kvplan.render.checked import Row, row
from kvplan.render.plain import CONTROL, plain
from kvplan.render.table import aligned

NAME = "text"
_HEADS = ("server", "engine", "model", "context", "GPU", "needed", "verdict")
_WIDE = 160  # of a source line
_LONG = 50  # of a model


def render(report: Report) -> str:
    """Findings, the table of servers (of a diff: of those that differ), and a line that sums both up."""
    parts = [_finding(one, report) for one in report.found]
    if report.diff:
        parts += _diff(report.diff)
    elif report.cases:
        parts.append(_table(report.cases))
    parts.append(_sum(report))
    return "\n\n".join(parts) + "\n"


def _finding(one: Found, report: Report) -> str:
    lines = [plain(f"{one.file}:{one.line}:{one.column}: {one.level}[{one.rule}] {one.message}")]
    source = report.lines.get(one.file, ())
    if one.line <= len(source) and len(source[one.line - 1]) <= _WIDE:
        text = CONTROL.sub("\ufffd", source[one.line - 1].expandtabs(1))  # one sign each: the caret stays in its place
        lines += [f"  {text}", f"  {' ' * (one.column - 1)}^"]
    if one.hint:
        lines.append(f"  hint: {plain(one.hint)}")
    return "\n".join(lines)


def _table(cases: Sequence[Case]) -> str:
    return "\n".join(aligned([_HEADS, *(_cells(row(case)) for case in cases)], left=frozenset({0, 1, 2, 4, 6})))


def _cells(found: Row) -> tuple[str, ...]:
    context = "-" if found.ctx_tokens is None else f"{found.ctx_tokens:,}"
    gpu = "-" if found.gpu is None else f"{found.n_gpus or 1} × {found.gpu}"
    needed = "-" if found.needed_bytes is None else f"{found.needed_bytes / GIB:.2f} GiB"
    place, verdict = f"{found.file}:{found.line}", found.verdict.replace("_", " ")
    said = (place, found.engine or "-", _model(found.model or "-"), context, gpu, needed, verdict)
    return tuple(plain(cell) for cell in said)


def _diff(diff: Diff) -> list[str]:
    """The table of servers that differ, and what new versions of engines do to them."""
    if not diff.changes:
        return []
    rows = [tuple(plain(cell) for cell in cells(change)) for change in diff.changes]
    table = aligned([CELLS, *rows], left=frozenset({0, 1, 2, 3, 4, len(CELLS) - 1}))
    return ["\n".join(table), *(plain(line) for line in upgrades(diff))]


def _model(name: str) -> str:
    """Of a long path its end, which tells."""
    return name if len(name) <= _LONG else f"…{name[1 - _LONG :]}"


def _sum(report: Report) -> str:
    said = counted(report.found) or "no findings"
    n = len(report.cases)
    if report.diff:
        return f"{summed(report.diff)}: {said if report.found else 'no new findings'}"
    left_out = f", {len(report.suppressed)} suppressed" if report.suppressed else ""
    return f"{n} server{'' if n == 1 else 's'} in {report.n_files} file{'' if report.n_files == 1 else 's'}: {said}{left_out}"
