"""``estimate --requests``: one request a line in, one answer a line out, in order; a bad one does not stop the others."""

import json
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from kvplan.cli import streams
from kvplan.cli.command import Said
from kvplan.core.errors import EXIT_OK, KvplanError, RequestError, did_you_mean
from kvplan.estimator import Options, answer
from kvplan.render import json_
from kvplan.render.envelope import dumps
from kvplan.specs import files
from kvplan.specs.config import shown

MAX_LINE_BYTES = 2**20


def answer_all(said: Said) -> int:
    """Answers as lines; with ``-o`` they go to the file when all are there. Raises RequestError for an unreadable file."""
    if said.words or said.after:
        raise RequestError("contradiction", "--requests names the models itself", hint="leave MODEL out, or leave --requests out")
    stray = next(
        (name for name in (*said.values, *sorted(said.flags)) if name in (*Options._fields, "explain", "require_fit", "command_file")), None
    )
    if stray is not None:
        flag = f"--{stray.replace('_', '-')}"
        raise RequestError("contradiction", f"{flag} beside --requests would bear on no request", hint="say it in the requests' own lines")
    source = said.values["requests"]
    if not source:
        raise RequestError("usage", "--requests: expected the name of a file, found ''", hint="- is stdin")
    with ExitStack() as stack:
        try:
            source_file = files.stdin() if source == "-" else stack.enter_context(Path(source).open("rb"))
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise RequestError("unreadable_file", f"{source}: {reason}", hint="check the path") from None
        answers = (dumps(_answer(raw, number)) + "\n" for number, raw in enumerate(_lines(source_file), 1) if raw.strip())
        streams.write_each(answers, said)
    return EXIT_OK


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Lines, of those that are too long only as much as shows it: the rest is read past, not kept."""
    while raw := file.readline(MAX_LINE_BYTES + 1):
        rest = raw
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(MAX_LINE_BYTES + 1)
        yield raw


def _answer(raw: bytes, number: int) -> dict[str, object]:
    """The answer to one line; one that gives no id gets null and its number."""
    asked: dict[str, object] = {}
    try:
        asked = _parsed(raw, number)
        found = json_.estimate(answer(_options(asked)))
    except KvplanError as error:
        message = "\n".join((error.message, *error.details))
        found = {"error": {"kind": error.kind, "message": message, "hint": error.hint}}
    except Exception as bug:  # one request's bug must not lose the others' answers
        found = {"error": {"kind": "internal_error", "message": f"{type(bug).__name__}: {bug}", "hint": "please report it"}}
    return {**({"id": asked["id"]} if "id" in asked else {"id": None, "line": number}), **found}


def _parsed(raw: bytes, number: int) -> dict[str, object]:
    if len(raw) > MAX_LINE_BYTES:
        raise RequestError("bad_request", f"line {number}: longer than {MAX_LINE_BYTES} bytes", hint="one request a line")
    where = f"line {number}"
    try:
        asked = json.loads(raw, object_pairs_hook=lambda pairs: files.unique(pairs, where), parse_constant=_no_number)
    except (ValueError, RecursionError) as problem:
        raise RequestError("bad_json", f"{where}: invalid JSON: {problem}", hint="one JSON object a line") from None
    if not isinstance(asked, dict):
        raise RequestError("bad_request", f"{where}: expected an object, found {shown(asked)}", hint="one JSON object a line")
    if not isinstance(asked.get("id"), str | int | None):
        found = asked.pop("id")
        raise RequestError("bad_request", f"{where}: id: expected a string or a whole number, found {shown(found)}", hint='"id": "r1"')
    return asked


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number in JSON")


def _options(asked: dict[str, object]) -> Options:
    said = files.unique([(key.replace("-", "_"), value) for key, value in asked.items() if key != "id"], "request")
    unknown = next((key for key in said if key not in Options._fields), None)
    if unknown is not None:
        raise RequestError(
            "unknown_option",
            f"unknown key '{unknown}'",
            hint=did_you_mean(unknown, Options._fields) or f"known: {', '.join(Options._fields)}",
        )
    command = _command(said.pop("command", None))
    if "-" in (said.get("model"), *command):
        raise RequestError("contradiction", "model: '-' is stdin, which one request can't have for itself", hint="name a file")
    return Options(command=command, **{key: _text(key, value) for key, value in said.items() if value is not None})


def _command(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value))
        except ValueError as problem:
            raise RequestError("bad_request", f"command: {problem}", hint="close the quotation, or give a list") from None
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return tuple(value)
    raise RequestError("bad_request", "command: expected a string or a list of strings", hint='["vllm", "serve", "…"]')


def _text(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise RequestError("bad_request", f"{key}: expected a string or a whole number, found {shown(value)}", hint="as on the command line")
