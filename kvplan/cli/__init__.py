"""The command line: a thin layer over the library. Only ``main`` turns errors into messages and exit codes."""

import os
import sys
from collections.abc import Sequence

from kvplan import __version__
from kvplan.cli import catalog, plain
from kvplan.cli.command import Command, Said
from kvplan.core.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_REQUEST, EXIT_UNAVAILABLE, KvplanError


def run() -> None:
    """The console script."""
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        asked = _read(argv)
        return EXIT_OK if asked is None else asked[0].run(asked[1])
    except KvplanError as error:
        from kvplan.cli.streams import complain

        complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of our answer has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except Exception as bug:
        return _other(bug, argv)


def _read(argv: Sequence[str]) -> tuple[Command, Said] | None:
    if "_KVPLAN_COMPLETE" in os.environ:
        from kvplan.cli import app

        app.complete()
    if argv and argv[0] in catalog.names():
        command = catalog.command(argv[0])
        said = plain.read(command, argv[1:])
        if said is not None:
            return command, said
    from kvplan.cli import app

    return app.said(argv)


def _other(bug: Exception, argv: Sequence[str]) -> int:
    """click's complaints and exits; anything else is a bug and says so."""
    import click

    if isinstance(bug, click.exceptions.Exit):
        return int(bug.exit_code)
    if isinstance(bug, click.ClickException):
        if isinstance(bug, click.exceptions.NoArgsIsHelpError):
            sys.stderr.write(bug.format_message() + "\n")
        else:
            sys.stderr.write(f"error: {_plainly(bug.format_message())}\nhint: kvplan {_command_word(argv)}--help\n")
        return EXIT_REQUEST
    if "--debug" in argv:
        import traceback

        traceback.print_exc()
    sys.stderr.write(
        f"error: internal error: {type(bug).__name__}: {bug} (kvplan {__version__}, Python {sys.version.split()[0]})\n"
        "hint: please report it with the output of the same command and --debug\n"
    )
    return EXIT_UNAVAILABLE


def _plainly(message: str) -> str:
    return (message[0].lower() + message[1:]).rstrip(".")


def _command_word(argv: Sequence[str]) -> str:
    return f"{argv[0]} " if argv and argv[0] in catalog.names() else ""
