"""What the README shows is what the program prints."""

import re
import shlex
from pathlib import Path

import pytest

from kvplan.cli import catalog
from tests.running import Run

PATH = Path(__file__).parent.parent / "README.md"
README = PATH.read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ (kvplan [^\n]+)\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize(("command", "shown"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_console_examples(kvplan: Run, request: pytest.FixtureRequest, command: str, shown: str) -> None:
    ran = kvplan(*shlex.split(command)[1:])
    if request.config.getoption("--update-golden"):
        head = f"```console\n$ {command}\n"
        PATH.write_text(PATH.read_text().replace(f"{head}{shown}```", f"{head}{ran.out}{ran.err}```"))
    else:
        assert ran.out + ran.err == shown


def test_there_are_examples() -> None:
    assert len(CONSOLE) >= 4


@pytest.mark.parametrize("name", catalog.names())
def test_every_command_is_in_the_manual_and_has_examples_that_run(kvplan: Run, name: str) -> None:
    command = catalog.command(name)
    assert f"`kvplan {name}" in README
    assert command.examples
    assert all(example.startswith(f"kvplan {name}") for example in command.examples)


@pytest.mark.parametrize("option", sorted({option.flag for name in catalog.names() for option in catalog.command(name).options}))
def test_every_option_is_in_the_manual(option: str) -> None:
    assert f"`{option}" in README
