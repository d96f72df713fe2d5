"""Where answers and complaints go: stdout for the answer alone, stderr for the rest, files whole or not at all."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from kvplan.cli.command import Said
from kvplan.core.errors import KvplanError, RequestError

if TYPE_CHECKING:
    from pathlib import Path

MARK = "kvplan"  # every file that kvplan writes names it in its first bytes
_MARK_WITHIN = 400


def write(text: str, said: Said) -> None:
    """The answer, to ``-o FILE`` when it was given and else to stdout. Raises RequestError when the file can't be written."""
    if "o" in said.values:
        from pathlib import Path

        write_file(Path(said.values["o"]), text, force="force" in said.flags)
    else:
        sys.stdout.write(text)
        sys.stdout.flush()


def write_file(path: "Path", text: str, *, force: bool) -> None:
    """``text`` in ``path``: a temporary file, then a rename. Overwrites only what kvplan made, unless ``force``."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        if path.exists() and not force and MARK not in path.read_bytes()[:_MARK_WITHIN].decode("utf-8", "replace"):
            raise RequestError("file_exists", f"{path}: exists and was not made by kvplan", hint="choose another name, or say --force")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as problem:
        partial.unlink(missing_ok=True)
        raise RequestError("unwritable_file", f"{path}: {problem.strerror or problem}", hint="check the path and its permissions") from None


def complain(error: KvplanError) -> None:
    """An error with its details and hint on stderr."""
    paint = painter(sys.stderr, None)
    lines = [paint("error:", "red") + f" {error.message}", *(f"  {line}" for line in error.details)]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    sys.stderr.write("\n".join(lines) + "\n")


def painter(stream: TextIO, when: str | None) -> Callable[[str, str], str]:
    """A function that colors text for ``stream``: --color, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal."""
    if not _colored(stream, when):
        return lambda text, style: text
    import click

    styles: dict[str, Callable[[str], str]] = {
        "red": lambda text: click.style(text, fg="red"),
        "yellow": lambda text: click.style(text, fg="yellow"),
        "bold": lambda text: click.style(text, bold=True),
    }
    return lambda text, style: styles[style](text)


def _colored(stream: TextIO, when: str | None) -> bool:
    if when in ("always", "never"):
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()
