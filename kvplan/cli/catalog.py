"""The commands, found by their folder."""

import importlib
import os

from kvplan.cli.command import Command

_FOLDER = os.path.join(os.path.dirname(__file__), "commands")


def names() -> list[str]:
    """Every command, in alphabetical order."""
    return sorted(name.removesuffix(".py") for name in os.listdir(_FOLDER) if name.endswith(".py") and not name.startswith("_"))


def command(name: str) -> Command:
    """The command called ``name``, its file imported now."""
    found: Command = importlib.import_module(f"kvplan.cli.commands.{name}").COMMAND
    return found
