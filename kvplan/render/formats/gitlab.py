"""GitLab's Code Quality report. Source: docs.gitlab.com, ci/testing/code_quality, "Import Code Quality results from a CI/CD job"."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator

from kvplan.checker.baseline import fingerprint
from kvplan.checker.report import Report

NAME = "gitlab"
_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(report: Report) -> str:
    """A list of findings; a fingerprint survives edits around its finding, and no other has it."""
    return json.dumps(list(_issues(report)), ensure_ascii=False, indent=1) + "\n"


def _issues(report: Report) -> Iterator[dict[str, object]]:
    seen: Counter[str] = Counter()
    for one in report.found:
        mark = fingerprint(one)
        seen[mark] += 1
        nth = seen[mark]
        yield {
            "engine_name": "kvplan",
            "check_name": one.rule,
            "description": f"{one.message} — {one.hint}" if one.hint else one.message,
            "fingerprint": mark if nth == 1 else hashlib.sha256(f"{mark}\0{nth}".encode()).hexdigest()[: len(mark)],
            "severity": _SEVERITIES[one.level],
            "location": {"path": one.file, "lines": {"begin": one.line}},
        }
