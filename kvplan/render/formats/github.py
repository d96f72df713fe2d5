"""Annotations of GitHub Actions. Source: docs.github.com, workflow commands; its toolkit packages/core/src/command.ts for escapes."""

from kvplan.checker.case import Found
from kvplan.checker.report import Report
from kvplan.render.plain import plain

NAME = "github"
_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> str:
    """A line a finding."""
    return "".join(f"{_line(one)}\n" for one in report.found)


def _line(one: Found) -> str:
    message = f"{one.message}\n{one.hint}" if one.hint else one.message
    where = f"file={_value(one.file)},line={one.line},col={one.column},title={_value(one.rule)}"
    return f"::{_LEVELS[one.level]} {where}::{_data(message)}"


def _data(text: str) -> str:
    return "%0A".join(plain(line.replace("%", "%25").replace("\r", "%0D")) for line in text.split("\n"))


def _value(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
