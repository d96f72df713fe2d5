"""The reports that the README shows are what its commands make."""

import re
import shlex
from pathlib import Path

import pytest

from kvplan.cli import main

ROOT = Path(__file__).parent.parent.parent
COMMANDS = re.findall(r"^kvplan (report .*-o (reports/\S+).*)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("command", "name"), COMMANDS, ids=[name for _, name in COMMANDS])
def test_examples(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str) -> None:
    kept = ROOT / name
    (tmp_path / "reports").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)) == 0
    made = (tmp_path / name).read_text(encoding="utf-8")
    if request.config.getoption("--update-golden"):
        kept.write_text(made, encoding="utf-8")
    assert made == kept.read_text(encoding="utf-8")


def test_there_are_three() -> None:
    assert len(COMMANDS) == 3
