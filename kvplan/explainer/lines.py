"""The lines of a log, in bounded memory, without what wrapped them: colors, docker's and other loggers' JSON."""

import json
import re
from collections.abc import Iterator
from typing import BinaryIO

MOST_BYTES = 16 * 1024
"""What is read of one line; no engine prints longer ones about memory."""
_COLORS = re.compile(r"(?:\x1b)?\[[0-9;]{1,8}m|\x1b\[[0-9;?]*[A-Za-z]")
_MESSAGES = ("log", "message", "msg", "MESSAGE", "textPayload")


def raw(file: BinaryIO) -> Iterator[bytes]:
    """Each line, cut at MOST_BYTES; in UTF-8 also where the file begins with the mark of UTF-16, as PowerShell writes it."""
    first = file.readline(MOST_BYTES)
    if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield from _transcoded(first, file)
        return
    line = first
    while line:
        yield line
        if line[-1:] != b"\n":
            _skip(file, line)
        line = file.readline(MOST_BYTES)


def _skip(file: BinaryIO, line: bytes) -> None:
    """The rest of a line that was cut."""
    while line and line[-1:] != b"\n" and len(line) == MOST_BYTES:
        line = file.readline(MOST_BYTES)


def _transcoded(first: bytes, file: BinaryIO) -> Iterator[bytes]:
    import codecs

    decode = codecs.getincrementaldecoder("utf-16")(errors="replace").decode
    rest, chunk = "", first
    while chunk:
        *lines, rest = (rest + decode(chunk)).split("\n")
        yield from (line[:MOST_BYTES].encode("utf-8", "replace") + b"\n" for line in lines)
        rest = rest[:MOST_BYTES]
        chunk = file.read(MOST_BYTES)
    if rest:
        yield rest.encode("utf-8", "replace")


def plain(line: bytes) -> str:
    """The text of a line: what the engine printed."""
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    if text.startswith("{"):
        text = _message(text)
    return _COLORS.sub("", text) if "[" in text else text


def _message(text: str) -> str:
    """What a JSON record carries; the record itself where it is none or has no message."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return text.replace('\\"', '"').replace("\\u001b", "\x1b")
    if not isinstance(record, dict):
        return text
    fields = record.get("fields")
    places = (record, fields) if isinstance(fields, dict) else (record,)
    said = [place[key] for place in places for key in _MESSAGES if isinstance(place.get(key), str)]
    target = record.get("target")
    head = f"{target}: " if isinstance(target, str) else ""
    return head + " ".join(said).rstrip("\n") if said else text
