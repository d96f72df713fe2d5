"""The command line: a thin layer over the library. Only ``main`` turns errors into messages and exit codes."""

import gc
import os
import sys
from collections.abc import Sequence

from kvplan import __version__
from kvplan.cli import catalog, plain, progress, streams
from kvplan.cli.command import Command, Said
from kvplan.core.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_REQUEST, KvplanError, RequestError, UnavailableError

# Modules, models and answers are made by the ten thousand and hold no cycles: looking for some takes a tenth of the time.
_ALLOCATIONS_BETWEEN_COLLECTIONS = 100_000


def run() -> None:
    """The console script, a process of its own."""
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS)
    code = main(sys.argv[1:])
    gc.freeze()  # else a process that ends looks through all it imported, several times
    sys.exit(code)


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    streams.prepare()
    progress.start()
    try:
        code = _run(argv)
        streams.flush()
        return code
    except KvplanError as error:
        streams.complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        progress.clear()
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of our answer has had enough
        streams.abandon()
        return EXIT_OK


def _run(argv: Sequence[str]) -> int:
    """The command's exit code. Raises KvplanError, also for click's complaints and for bugs."""
    try:
        asked = _read(argv)
        if asked is None:
            return EXIT_OK
        command, said = asked
        if said.after and "--" not in (command.argument or ""):
            raise RequestError("usage", f"unexpected words after --: {' '.join(said.after)}", hint=f"kvplan {command.name} --help")
        return command.run(said)
    except (KvplanError, BrokenPipeError):
        raise
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
    if isinstance(bug, click.exceptions.NoArgsIsHelpError):
        streams.remark(bug.format_message())
        return EXIT_REQUEST
    if isinstance(bug, click.ClickException):
        raise RequestError("usage", _plainly(bug.format_message()), hint=f"kvplan {_command_word(argv)}--help") from None
    if "--debug" in argv:
        import traceback

        traceback.print_exc()
    raise UnavailableError(
        "internal_error",
        f"internal error: {type(bug).__name__}: {bug} (kvplan {__version__}, Python {sys.version.split()[0]})",
        hint="please report it with the output of the same command and --debug",
    ) from None


def _plainly(message: str) -> str:
    return (message[0].lower() + message[1:]).rstrip(".")


def _command_word(argv: Sequence[str]) -> str:
    return f"{argv[0]} " if argv and argv[0] in catalog.names() else ""
