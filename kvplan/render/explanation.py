"""What a log says, as text, JSON, or Markdown for an issue."""

from collections.abc import Callable

from kvplan.core.ledger import Finding, Fix
from kvplan.core.units import format_size
from kvplan.explainer.explanation import Explanation
from kvplan.explainer.record import Figure
from kvplan.explainer.row import Row
from kvplan.render import json_
from kvplan.render.envelope import document
from kvplan.render.table import aligned

_SHOWN = 40  # figures; JSON has all


def as_json(found: Explanation) -> str:
    """The JSON document of ``kvplan explain LOG``."""
    return document(
        {
            "engine": found.engine,
            "version": found.version,
            "model": found.model,
            "gpu": found.gpu,
            "settings": dict(found.settings),
            "figures": [{**figure._asdict(), "value": _number(figure.value)} for figure in found.figures],
            "ledger": [row._asdict() for row in found.ledger],
            "outcome": found.outcome,
            "cause": found.cause,
            "fixes": [_fix(fix) for fix in found.fixes],
            "findings": [{**finding._asdict(), "fixes": [_fix(fix) for fix in finding.fixes]} for finding in found.findings],
            "earlier_starts": [before._asdict() for before in found.earlier],
            "n_lines": found.n_lines,
        }
    )


def _fix(fix: Fix) -> dict[str, object]:
    return {**json_.fix(fix), "unchecked": fix.unchecked or None}


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def text(found: Explanation, *, paint: Callable[[str, str], str]) -> str:
    """The whole answer, ending in a newline."""
    blocks = ["\n".join((_head(found), *_earlier(found)))]
    blocks += ["\n".join(_finding(finding, paint)) for finding in found.findings]
    if found.ledger:
        blocks.append("\n".join(aligned([_HEAD, *(_row(row) for row in found.ledger)], left=frozenset({0, 4}))))
    if found.figures:
        blocks.append("\n".join(aligned(_figures(found), left=frozenset({1, 3}))))
    return "\n\n".join(blocks) + "\n"


_HEAD = ("term", "printed", "estimated", "off by", "why")


def markdown(found: Explanation) -> str:
    """The answer for an issue."""
    lines = [f"**{_head(found)}**", *(f"- {line}" for line in _earlier(found))]
    for finding in found.findings:
        lines += ["", f"**{finding.rule}** {finding.message}", "", f"{finding.hint}"]
        lines += [f"- `{_change(fix)}`{_effect(fix)}" for fix in finding.fixes]
    if found.ledger:
        lines += ["", "| term | printed | estimated | off by | why |", "|---|---:|---:|---:|---|"]
        lines += ["| " + " | ".join(_row(row)) + " |" for row in found.ledger]
    if found.figures:
        head, *rows = _figures(found)
        lines += ["", "| " + " | ".join(head) + " |", "|---:|---|---:|---|", *("| " + " | ".join(row) + " |" for row in rows)]
    return "\n".join((*lines, "", "made by kvplan explain", ""))


def _head(found: Explanation) -> str:
    engine = found.engine or "no known engine"
    known = [f"{engine} {found.version}" if found.version else engine, found.model, found.gpu, _ENDED[found.outcome]]
    return " · ".join(part for part in known if part)


_ENDED = {"ran": "ran", "refused": "refused to start", "oom": "ran out of memory", "unknown": "the log does not show how it ended"}


def _earlier(found: Explanation) -> list[str]:
    return [
        f"start {before.start} at line {before.line}{f', version {before.version}' if before.version else ''}: "
        f"{_ENDED[before.outcome]}{f' ({before.cause})' if before.cause else ''}"
        for before in found.earlier
    ]


def _finding(finding: Finding, paint: Callable[[str, str], str]) -> list[str]:
    head = f"{finding.level}[{finding.rule}]:"
    painted = head if finding.level == "note" else paint(head, "red" if finding.level == "error" else "yellow")
    fixes = [f"  {n}. {_change(fix)}{_effect(fix)}" for n, fix in enumerate(finding.fixes, 1)]
    return [f"{painted} {finding.message}", f"  hint: {finding.hint}", *fixes]


def _change(fix: Fix) -> str:
    if fix.after in ("True", "on") and fix.flag.startswith("--"):
        return fix.flag
    return f"{fix.flag} {fix.after}" + (f" (was {fix.before})" if fix.before else "")


def _effect(fix: Fix) -> str:
    unchecked = f" (not checked: {fix.unchecked})" if fix.unchecked else ""
    if not fix.effect_bytes:
        return unchecked
    return f": {format_size(abs(fix.effect_bytes))} {'less' if fix.effect_bytes < 0 else 'more'}{unchecked}"


def _row(row: Row) -> tuple[str, ...]:
    printed, estimated = row.printed_bytes, row.estimated_bytes
    off = None if printed is None or estimated is None else printed - estimated
    return (
        row.term,
        "" if printed is None else format_size(printed),
        "" if estimated is None else format_size(estimated),
        "" if off is None else f"{'-' if off < 0 else '+'}{format_size(abs(off))}",
        row.why,
    )


def _figures(found: Explanation) -> list[tuple[str, ...]]:
    last = max(figure.start for figure in found.figures)
    shown = [figure for figure in found.figures if figure.start == last][:_SHOWN]
    return [("line", "figure", "value", "unit"), *(_figure(figure) for figure in shown)]


def _figure(figure: Figure) -> tuple[str, ...]:
    whose = " ".join(part for part in (figure.device, figure.label) if part)
    value = _number(figure.value)
    return (
        str(figure.line),
        f"{whose} ({figure.rank})" if figure.rank else whose,
        f"{value:,}" if isinstance(value, int) else f"{value:,.6g}",
        figure.unit or "",
    )
