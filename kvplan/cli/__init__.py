"""The command line: one file a command, imported when it runs."""

import sys
from collections.abc import Sequence

import click

from kvplan import __version__
from kvplan.core.errors import EXIT_INTERRUPTED, EXIT_REQUEST, EXIT_UNAVAILABLE, KvplanError

_COMMANDS = ("estimate",)


class _Lazy(click.Group):
    """Imports a command's file only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        import importlib

        command: click.Command = importlib.import_module(f"kvplan.cli.{cmd_name}").command
        return command


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def kvplan() -> None:
    """Where the memory goes, before you rent the GPU."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the only place that turns errors into messages and exit codes."""
    try:
        return kvplan.main(args=argv, prog_name="kvplan", standalone_mode=False) or 0
    except KvplanError as error:
        lines = [f"error: {error.message}", *(f"  {line}" for line in error.details)]
        if error.hint:
            lines.append(f"hint: {error.hint}")
        click.echo("\n".join(lines), err=True)
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return EXIT_REQUEST
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except Exception as bug:
        click.echo(f"internal error: {type(bug).__name__}: {bug} (kvplan {__version__}, Python {sys.version.split()[0]})", err=True)
        return EXIT_UNAVAILABLE
