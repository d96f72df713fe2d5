"""The engine's own command: the words after ``--``, or those of a file as a shell would part them."""

from kvplan.cli.command import Said
from kvplan.core.errors import RequestError


def pasted(said: Said) -> tuple[str, ...]:
    """The words of the command, none where there is none. Raises RequestError for two, or a file that can't be read."""
    if "command_file" not in said.values:
        return said.after
    if said.after:
        raise RequestError("contradiction", "--command-file: there is a command after -- already", hint="give one of them")
    import shlex
    from pathlib import Path

    from kvplan.specs.files import read_text

    name = said.values["command_file"]
    try:
        return tuple(shlex.split(read_text(Path(name)), comments=True))
    except ValueError as problem:
        raise RequestError("bad_file", f"{name}: {problem}", hint="close the quotation") from None
