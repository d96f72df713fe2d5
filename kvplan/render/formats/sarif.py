"""SARIF 2.1.0, as code scanning reads it. Source: docs.oasis-open.org/sarif/sarif/v2.1.0, sections 3.14 to 3.52."""

import os
from urllib.parse import quote

from kvplan import __version__
from kvplan.checker.baseline import fingerprint
from kvplan.checker.case import Found
from kvplan.checker.report import Report, Suppressed
from kvplan.explainer import manual
from kvplan.render.envelope import dumps

NAME = "sarif"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"refusal": "error"}  # of a page; every other level is one of SARIF's


def render(report: Report) -> str:
    """One run: all rules, also those that did not fire, and suppressed findings with their reason."""
    pages = manual.rules()
    at = {page.id: i for i, page in enumerate(pages)}
    results = [_result(one, at) for one in report.found]
    results += [{**_result(one.found, at), "suppressions": [_suppression(one)]} for one in report.suppressed]
    driver = {"name": "kvplan", "semanticVersion": __version__, "rules": [_rule(page) for page in pages]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "the folder that was checked"}}},
        "results": results,
    }
    return dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _suppression(one: Suppressed) -> dict[str, object]:
    return {"kind": "inSource" if one.in_source else "external", "justification": one.reason}


def _rule(page: manual.Page) -> dict[str, object]:
    text = "\n\n".join(f"## {section.title}\n\n{section.text}" for section in page.sections)
    level = str(page.level)
    return {
        "id": page.id,
        "shortDescription": {"text": page.summary},
        "help": {"text": f"kvplan explain {page.id}", "markdown": text},
        "defaultConfiguration": {"level": _LEVELS.get(level, level)},
    }


def _result(one: Found, at: dict[str, int]) -> dict[str, object]:
    location = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(os.fsencode(one.file)), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": one.line, "startColumn": one.column},
        }
    }
    message = f"{one.message}\n{one.hint}" if one.hint else one.message
    return {
        "ruleId": one.rule,
        "ruleIndex": at[one.rule],
        "level": one.level,
        "message": {"text": message},
        "locations": [location],
        "partialFingerprints": {"kvplan/v1": fingerprint(one)},
    }
