"""``estimate --requests``: one request a line in, one answer a line out, in order; a bad one does not stop the others."""

import json
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from kvplan.cli import streams
from kvplan.cli.command import Said
from kvplan.core.errors import EXIT_OK, KvplanError, RequestError, did_you_mean
from kvplan.estimator import Options, answer
from kvplan.render import json_
from kvplan.specs import files

MAX_LINE_BYTES = 2**20


def answer_all(said: Said) -> int:
    """Answers as lines; with ``-o`` they go to the file when all are there. Raises RequestError for an unreadable file."""
    if said.words or said.after:
        raise RequestError("contradiction", "--requests names the models itself", hint="leave MODEL out, or leave --requests out")
    with ExitStack() as stack:
        source = said.values["requests"]
        try:
            lines = files.stdin() if source == "-" else stack.enter_context(Path(source).open("rb"))
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise RequestError("unreadable_file", f"{source}: {reason}", hint="check the path") from None
        answers = (json_.dumps(_answer(raw, number)) + "\n" for number, raw in enumerate(lines, 1) if raw.strip())
        if "o" in said.values:
            streams.write("".join(answers), said)
        else:
            _stream(answers)
    return EXIT_OK


def _stream(lines: Iterator[str]) -> None:
    for line in lines:
        streams.say(line)
    streams.flush()


def _answer(raw: bytes, number: int) -> dict[str, object]:
    """The answer to one line; its id is the line's number where it gives none."""
    asked: dict[str, object] = {}
    try:
        asked = _parsed(raw, number)
        found = json_.estimate(answer(_options(asked)))
    except KvplanError as error:
        message = "\n".join((error.message, *error.details))
        found = {"error": {"kind": error.kind, "message": message, "hint": error.hint}}
    except Exception as bug:  # one request's bug must not lose the others' answers
        found = {"error": {"kind": "internal_error", "message": f"{type(bug).__name__}: {bug}", "hint": "please report it"}}
    return {"id": asked.get("id", number), **found}


def _parsed(raw: bytes, number: int) -> dict[str, object]:
    if len(raw) > MAX_LINE_BYTES:
        raise RequestError("bad_request", f"line {number}: longer than {MAX_LINE_BYTES} bytes", hint="one request a line")
    try:
        asked = json.loads(raw)
    except (ValueError, RecursionError) as problem:
        raise RequestError("bad_json", f"line {number}: invalid JSON: {problem}", hint="one JSON object a line") from None
    if not isinstance(asked, dict):
        raise RequestError("bad_request", f"line {number}: expected an object, found {type(asked).__name__}", hint="one JSON object a line")
    return asked


def _options(asked: dict[str, object]) -> Options:
    said = {key.replace("-", "_"): value for key, value in asked.items() if key != "id"}
    unknown = next((key for key in said if key not in Options._fields), None)
    if unknown is not None:
        raise RequestError(
            "unknown_option",
            f"unknown key '{unknown}'",
            hint=did_you_mean(unknown, Options._fields) or f"known: {', '.join(Options._fields)}",
        )
    command = _command(said.pop("command", None))
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
    raise RequestError(
        "bad_request", f"{key}: expected a string or a whole number, found {json.dumps(value)[:60]}", hint="as on the command line"
    )
