"""The commands, found by their folder."""

import importlib
from pathlib import Path

from kvplan.cli.command import Command

_FOLDER = Path(__file__).parent / "commands"


def names() -> list[str]:
    """Every command, in alphabetical order."""
    return sorted(path.stem for path in _FOLDER.glob("[!_]*.py"))


def command(name: str) -> Command:
    """The command called ``name``, its file imported now."""
    found: Command = importlib.import_module(f"kvplan.cli.commands.{name}").COMMAND
    return found
