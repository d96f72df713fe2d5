"""JUnit's XML, as Jenkins and GitLab read it: a test for each server, which fails by its errors.

Source: jenkinsci/xunit-plugin src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from kvplan.checker.case import Found
from kvplan.checker.report import Report
from kvplan.checker.server import Server

NAME = "junit"
_Place = tuple[str, int, str]
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """Warnings and notes are the output of a test; what is found in a file and not in a server is a test of its own."""
    tests = _tests(report)
    failures = sum(any(one.level == "error" for one in found) for found in tests.values())
    body = "".join(_test(place, nth, tests[place]) for place, nth in _numbered(sorted(tests)))
    counts = f'tests="{len(tests)}" failures="{failures}" errors="0"'
    suite = f'<testsuite name="kvplan check" {counts}>\n{body}</testsuite>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}>\n{suite}\n</testsuites>\n'


def _tests(report: Report) -> dict[_Place, list[Found]]:
    tests: dict[_Place, list[Found]] = {_place(case.server): [] for case in report.cases}
    for one in report.found:
        tests.setdefault(_place(one.server) if one.server else (one.file, one.line, one.rule), []).append(one)
    return tests


def _place(server: Server) -> _Place:
    return (server.file, server.line, server.name or "server")


def _numbered(places: Sequence[_Place]) -> Iterator[tuple[_Place, int]]:
    """Each with how many of its name the file has had so far: lines move, and histories of tests go by names."""
    seen: Counter[tuple[str, str]] = Counter()
    for file, line, name in places:
        seen[file, name] += 1
        yield (file, line, name), seen[file, name]


def _test(place: _Place, nth: int, found: Sequence[Found]) -> str:
    file, _, name = place
    title = name if nth == 1 else f"{name} {nth}"
    head = f"<testcase classname={_value(file)} name={_value(title)}"
    errors = [one for one in found if one.level == "error"]
    rest = [one for one in found if one.level != "error"]
    parts = []
    if errors:
        text = "\n".join(map(_said, errors))
        parts.append(f"<failure type={_value(errors[0].rule)} message={_value(errors[0].message)}>{_text(text)}</failure>\n")
    if rest:
        text = "\n".join(map(_said, rest))
        parts.append(f"<system-out>{_text(text)}</system-out>\n")
    return f"{head}>\n{''.join(parts)}</testcase>\n" if parts else f"{head}/>\n"


def _said(one: Found) -> str:
    hint = f"\n  hint: {one.hint}" if one.hint else ""
    return f"{one.file}:{one.line}:{one.column}: {one.level}[{one.rule}] {one.message}{hint}"


def _text(text: str) -> str:
    """What XML can't hold at all, not even escaped, becomes a sign that stands for it."""
    return escape(_NO_XML.sub("\ufffd", text))


def _value(text: str) -> str:
    return quoteattr(_NO_XML.sub("\ufffd", text))
