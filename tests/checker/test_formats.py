"""Every format of one small tree, as it is written; SARIF against its schema, GitHub's annotations against its escapes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from jsonschema import Draft4Validator

from kvplan import _discover
from kvplan.checker.case import Found
from kvplan.checker.report import Report, Suppressed
from kvplan.explainer import manual
from kvplan.render.formats import github, markdown, sarif
from tests.running import Run

CASES = Path(__file__).parent.parent / "cases" / "check" / "formats"
SCHEMA = Path(__file__).parent.parent / "data" / "sarif" / "sarif-schema-2.1.0.json"
NAMES = sorted(module.NAME for module in _discover.modules("kvplan.render.formats").values())
ODD = Found("KV500", "error", "a b/ü,1:2%.sh", 3, 4, None, "100% of\r\nit: <b>a|b</b> @x `y` [z](w)", "a, b: c")


def _problems(text: str) -> list[str]:
    validator = Draft4Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    return [f"{list(problem.path)}: {problem.message}" for problem in validator.iter_errors(json.loads(text))]


def _run(text: str) -> dict[str, list[dict[str, object]]]:
    (run,) = json.loads(text)["runs"]
    assert isinstance(run, dict)
    return run


@pytest.mark.parametrize("name", NAMES)
def test_golden(kvplan: Run, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    shutil.copytree(CASES / "deploy", tmp_path / "deploy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    ran = kvplan("check", "--gpu", "h100-sxm", "--format", name)
    assert (ran.code, ran.err) == (1, "")
    if name == "sarif":
        assert _problems(ran.out) == []
        assert [result["locations"] for result in _run(ran.out)["results"]]
        ran = ran._replace(out=_without_rules(ran.out))
    if name == "json":
        ran = ran._replace(out=json.dumps({**json.loads(ran.out), "kvplan": "0"}, indent=1, ensure_ascii=False) + "\n")
    golden = CASES / f"{name}.out"
    if request.config.getoption("--update-golden"):
        golden.write_text(ran.out, encoding="utf-8")
    else:
        assert ran.out == golden.read_text(encoding="utf-8")


def _without_rules(text: str) -> str:
    """The manual's pages left out, one result a line: what is worth reading."""
    run = _run(text)
    run["results"] = [result for result in run["results"] if result.pop("ruleIndex") is not None]
    return "".join(f"{json.dumps(result, ensure_ascii=False)}\n" for result in run["results"])


def test_a_clean_run_of_sarif_names_every_rule_and_has_no_results() -> None:
    text = sarif.render(Report((), ()))
    assert _problems(text) == []
    (run,) = json.loads(text)["runs"]
    assert run["results"] == []
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [page.id for page in manual.rules()]


def test_sarif_of_odd_names_and_of_what_is_suppressed() -> None:
    known = Suppressed(ODD._replace(level="note"), "known to base.json", in_source=False)
    text = sarif.render(Report((), (ODD,), (Suppressed(ODD._replace(level="warning"), "why"), known)))
    assert _problems(text) == []
    first, second, third = json.loads(text)["runs"][0]["results"]
    uri = first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert not set(uri) & set(" ,:\\")
    assert unquote(uri) == ODD.file
    assert "suppressions" not in first
    assert second["suppressions"] == [{"kind": "inSource", "justification": "why"}]
    assert third["suppressions"] == [{"kind": "external", "justification": "known to base.json"}]


def test_annotations_escape_what_would_end_them() -> None:
    line = github.render(Report((), (ODD,)))
    assert line == ("::error file=a b/ü%2C1%3A2%25.sh,line=3,col=4,title=KV500::100%25 of%0D%0Ait: <b>a|b</b> @x `y` [z](w)%0Aa, b: c\n")
    assert github.render(Report((), (ODD._replace(level="note"),))).startswith("::notice ")


def test_markdown_shows_text_as_text() -> None:
    row = markdown.render(Report((), (ODD,))).splitlines()[-1]
    assert row.replace("\\|", "").count("|") == 5
    for sign in ("<b>", "@x", "`y`", "[z]"):
        assert sign not in row


@pytest.mark.parametrize("render", [github.render, markdown.render])
def test_signs_that_steer_a_terminal_are_shown_and_not_sent(render: Callable[[Report], str]) -> None:
    said = render(Report((), (ODD._replace(file="\x1b[31m\u202e.sh", message="\x07 \x9b2J"),)))
    assert "x1b" in said
    assert not set(said) & set("\x07\x1b\x9b\u202e")
