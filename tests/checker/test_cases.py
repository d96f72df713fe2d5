"""Files of ``tests/cases/check``: what fails, and its twin that holds. Their first line is the command, ``.out`` the answer to it."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from kvplan.explainer import manual
from tests.running import Run

CASES = Path(__file__).parent.parent / "cases" / "check"
FILES = sorted(path for path in CASES.iterdir() if path.is_file() and path.suffix != ".out")
NAME = re.compile(r"(KV\d{3})(?:-[\w-]+)?\.(fails|holds)\.\w+")
COMMAND = re.compile(r"# kvplan (check .*)\n")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_case(kvplan: Run, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: Path) -> None:
    name, command = NAME.fullmatch(path.name), COMMAND.match(path.read_text(encoding="utf-8"))
    assert name
    assert command
    shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    ran = kvplan(*shlex.split(command[1]), path.name)
    assert ran.err == ""
    if name[2] == "fails":
        assert f"[{name[1]}]" in ran.out
    else:
        assert ": no findings" in ran.out
    assert ran.code == ("error[" in ran.out)
    golden = path.with_suffix(".out")
    if request.config.getoption("--update-golden"):
        golden.write_text(ran.out, encoding="utf-8")
    else:
        assert ran.out == golden.read_text(encoding="utf-8")


def test_each_rule_of_check_has_a_pair() -> None:
    pairs = {kind: {found[1] for path in FILES if (found := NAME.fullmatch(path.name)) and found[2] == kind} for kind in ("fails", "holds")}
    ours = {page.id for page in manual.rules() if page.id.startswith("KV5")}
    assert ours <= pairs["fails"]
    assert pairs["fails"] == pairs["holds"]


def test_no_answer_is_left_over() -> None:
    assert {path.name for path in CASES.glob("*.out")} == {path.with_suffix(".out").name for path in FILES}
