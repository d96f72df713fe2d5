"""Where answers and complaints go: stdout for the answer alone, stderr for the rest, files whole or not at all."""

import codecs
import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TextIO

from kvplan import __version__
from kvplan.cli import progress
from kvplan.cli.command import Said
from kvplan.core.errors import KvplanError, RequestError, UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from kvplan.core.ledger import Finding

MARK = b"kvplan"  # every file that kvplan writes names it in its first or last bytes
_MARK_WITHIN = 400
_NOTHING = b"[]"  # a JSON list without anything in it, which has no place for a name either
_SIGNATURE = f"\n# made by kvplan {__version__}\n"


def prepare() -> None:
    """Let stdout and stderr say in other signs what their encoding has not, rather than fail."""
    codecs.register_error("kvplan", _in_other_signs)
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="kvplan")


def _in_other_signs(problem: UnicodeError) -> tuple[str, int]:
    """JSON's own escapes, so that JSON stays JSON; outside of it ASCII for the signs that text is set with."""
    assert isinstance(problem, UnicodeEncodeError)
    signs = {} if problem.object.startswith("{") else _SIGNS
    units = problem.object[problem.start : problem.end].encode("utf-16-be", "surrogatepass")
    codes = [int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)]
    return "".join(signs.get(code) or f"\\u{code:04x}" for code in codes), problem.end


_SIGNS = {ord(sign): plain for sign, plain in {"·": "*", "×": "x", "–": "-", "−": "-", "≈": "~", "²": "^2", "⁹": "^9", "…": "..."}.items()}


def write(text: str, said: Said) -> None:
    """The answer, to ``-o FILE`` when it was given and else to stdout. Raises KvplanError when that can't be written."""
    if said.values.get("o", "-") != "-":
        from pathlib import Path

        if not said.values["o"]:
            raise RequestError("usage", "-o: expected the name of a file, found ''", hint="-o answer.json")
        write_file(Path(said.values["o"]), text, force="force" in said.flags)
    else:
        say(text)
        flush()


def write_each(texts: Iterable[str], said: Said) -> None:
    """Parts of the answer as they come, to stdout; to ``-o FILE`` when all are there. Raises like ``write``."""
    if said.values.get("o", "-") != "-":
        write("".join(texts), said)
        return
    for text in texts:
        say(text)
    flush()


def say(text: str) -> None:
    """``text`` to stdout. Raises UnavailableError where it takes no more; BrokenPipeError where nobody reads on."""
    if sys.stdout is None:
        raise UnavailableError("no_output", "stdout is closed", hint="write to a file: -o FILE")
    progress.clear()
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise _full(problem) from None


def flush() -> None:
    """What stdout still holds, out. Raises like ``say``."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise _full(problem) from None


def _full(problem: OSError) -> UnavailableError:
    abandon()
    return UnavailableError("no_output", f"stdout: {problem.strerror or problem}", hint="write elsewhere: -o FILE")


def abandon() -> None:
    """Nothing more to stdout: what it holds could not be written when Python ends either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_file(path: "Path", text: str, *, force: bool) -> None:
    """``text`` in ``path``: a temporary file, then a rename; through links, and straight into devices and pipes.

    Overwrites only what is empty or kvplan made, unless ``force``. Raises RequestError for what can't be written.
    """
    try:
        if path.exists() and not path.is_file():
            _write_into(path, text)
        else:
            _replace(path.resolve(), text, force=force)
    except (OSError, ValueError, RuntimeError) as problem:  # a NUL in the name; a link to itself
        reason = getattr(problem, "strerror", None) or problem
        raise RequestError("unwritable_file", f"{path}: {reason}", hint="check the path and its permissions") from None


def _write_into(path: "Path", text: str) -> None:
    """Fails where nobody reads a pipe, rather than wait."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "w", encoding="utf-8", errors="kvplan") as stream:
        os.set_blocking(stream.fileno(), True)
        stream.write(text)


def _replace(path: "Path", text: str, *, force: bool) -> None:
    if path.exists():
        with path.open("r+b") as file:  # also whether it may be written, which a rename would not ask
            head = file.read(_MARK_WITHIN)
            file.seek(max(0, path.stat().st_size - _MARK_WITHIN))
            made = MARK in head or MARK in file.read()
        if head.strip() not in (b"", _NOTHING) and not made and not force:
            raise RequestError("file_exists", f"{path}: exists and was not made by kvplan", hint="choose another name, or say --force")
    says_so = MARK in text[:_MARK_WITHIN].encode("utf-8", "replace") or text.strip().encode("utf-8", "replace") == _NOTHING
    signed = text if says_so else text + _SIGNATURE
    partial = path.with_name(f".kvplan-{os.getpid()}.partial")
    try:
        partial.write_text(signed, encoding="utf-8", errors="kvplan")
        partial.replace(path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def complain(error: KvplanError) -> None:
    """An error with its details and hint on stderr."""
    paint = painter(sys.stderr, None)
    lines = [paint("error:", "red") + f" {error.message}", *(f"  {line}" for line in error.details)]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    remark("\n".join(lines))


def warn(findings: "Iterable[Finding]", said: Said) -> None:
    """Findings for people, on stderr; JSON carries them itself, and -q wants none."""
    if {"q", "json"} & said.flags:
        return
    paint = painter(sys.stderr, said.values.get("color"))
    for finding in findings:
        style = "red" if finding.level == "error" else "yellow"
        head = f"{finding.level}[{finding.rule}]:"
        remark(f"{head if finding.level == 'note' else paint(head, style)} {finding.message}")
        if finding.hint:
            remark(f"  hint: {finding.hint}")


def remark(text: str) -> None:
    """A line for people on stderr; where that takes none, the exit code has to do."""
    progress.clear()
    with contextlib.suppress(OSError):
        sys.stderr.write(text + "\n")


def painter(stream: TextIO | None, when: str | None) -> Callable[[str, str], str]:
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


def _colored(stream: TextIO | None, when: str | None) -> bool:
    if when in ("always", "never"):
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream is not None and stream.isatty())
