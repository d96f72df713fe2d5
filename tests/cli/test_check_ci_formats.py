"""What CI systems read: JUnit's XML and GitLab's Code Quality, held to what their readers demand."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kvplan.checker.case import Found
from kvplan.checker.report import Report
from kvplan.cli import main
from kvplan.render.formats import gitlab, junit
from tests.cli.checking import BEYOND, HELD
from tests.running import Run

ODD = Found("KV500", "error", 'a b/ü<&".sh', 3, 4, None, "100% of\r\nit: <b>&\x1b[0m ]]> \ud800", "a, b: c")
ISSUES = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "pattern": r"^KV\d{3}$"},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/]"},
                    "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}},
                },
            },
        },
    },
}
"""docs.gitlab.com, ci/testing/code_quality: the fields that a report must have; nothing is demanded of others."""

ELEMENTS: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": ({"name"}, {"time", "classname", "group"}, {"skipped", "error", "failure", "system-out", "system-err"}),
    "failure": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}
"""jenkinsci/xunit-plugin's junit-10.xsd at 031e285: attributes that must and that may be there, and children."""


def _problems(element: ET.Element) -> list[str]:
    needed, allowed, children = ELEMENTS[element.tag]
    found = [f"{element.tag}: no {name}" for name in needed - set(element.keys())]
    found += [f"{element.tag}: {name}" for name in set(element.keys()) - needed - allowed]
    found += [f"{element.tag}: {child.tag}" for child in element if child.tag not in children]
    return found + [problem for child in element for problem in _problems(child)]


def _issues(text: str) -> list[dict[str, str]]:
    issues: list[dict[str, str]] = json.loads(text)
    assert [problem.message for problem in Draft202012Validator(ISSUES).iter_errors(issues)] == []
    return issues


@pytest.fixture
def findings(tree: Path) -> Path:
    (tree / "serve.sh").write_text(BEYOND + HELD.replace("4096", "4096 --gpu-memory-utilization 0.2"), encoding="utf-8")
    (tree / "broken.yaml").write_text("kind: Pod\ncontainers: [vllm, {\n", encoding="utf-8")
    return tree


def test_junit_is_what_its_schema_says(kvplan: Run, findings: Path) -> None:
    ran = kvplan("check", "--gpu", "l4", "--format", "junit")
    root = ET.fromstring(ran.out)
    assert _problems(root) == []
    (suite,) = root
    failing = [case for case in suite if case.find("failure") is not None]
    assert (suite.get("tests"), suite.get("failures")) == (str(len(suite)), str(len(failing))) == ("3", "2")
    assert [failure.get("type") for case in failing for failure in case.findall("failure")] == ["KV110", "KV103"]
    assert [case.get("classname") for case in suite] == ["broken.yaml", "serve.sh", "serve.sh"]


@pytest.mark.parametrize("level", ["error", "note"])
def test_junit_holds_any_text(level: str) -> None:
    text = junit.render(Report((), (ODD._replace(level="error" if level == "error" else "note"),)))
    root = ET.fromstring(text.encode())
    assert _problems(root) == []
    (case,) = root[0]
    assert case.get("classname") == ODD.file
    said = case[0].text or ""
    assert "<b>&\ufffd[0m ]]> \ufffd" in said
    assert case[0].tag == ("failure" if level == "error" else "system-out")


def test_junit_of_nothing() -> None:
    assert _problems(ET.fromstring(junit.render(Report((), ())))) == []


def test_gitlab_is_what_its_documentation_says(kvplan: Run, findings: Path) -> None:
    issues = _issues(kvplan("check", "--gpu", "l4", "--format", "gitlab").out)
    assert {issue["severity"] for issue in issues} == {"major", "info"}
    assert _issues(gitlab.render(Report((), ()))) == []
    assert _issues(gitlab.render(Report((), (ODD,))))[0]["severity"] == "major"


def test_fingerprints_are_unique_and_survive_moved_lines(kvplan: Run, tree: Path) -> None:
    (tree / "serve.sh").write_text(BEYOND + BEYOND, encoding="utf-8")
    before = _issues(kvplan("check", "--gpu", "l40s", "--format", "gitlab").out)
    (tree / "serve.sh").write_text("# moved\n\n" + BEYOND + BEYOND, encoding="utf-8")
    after = _issues(kvplan("check", "--gpu", "l40s", "--format", "gitlab").out)
    assert [issue["location"] for issue in before] != [issue["location"] for issue in after]
    marks = [issue["fingerprint"] for issue in before]
    assert marks == [issue["fingerprint"] for issue in after]
    assert len(set(marks)) == len(marks) == 2


def test_both_at_once_into_files(findings: Path) -> None:
    argv = ["--format", "gitlab=gl.json", "--format", "junit=junit.xml"]
    assert main(["check", "--gpu", "l4", *argv]) == 1
    _issues((findings / "gl.json").read_text(encoding="utf-8"))
    for name in ("serve.sh", "broken.yaml"):
        (findings / name).unlink()
    for _ in range(2):
        assert main(["check", *argv]) == 0
        assert _issues((findings / "gl.json").read_text(encoding="utf-8")) == []
    assert _problems(ET.fromstring((findings / "junit.xml").read_text(encoding="utf-8"))) == []
