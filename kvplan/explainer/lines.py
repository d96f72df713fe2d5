"""The lines of a log, in bounded memory, without what wrapped them: colors, docker's and other loggers' JSON."""

import json
import re
from collections.abc import Iterator
from typing import IO

from kvplan.core.errors import RequestError

MOST_BYTES = 16 * 1024
"""What is looked at of one line; no engine prints longer ones about memory."""
_BLOCK = 1 << 20
_COLORS = re.compile(r"(?:\x1b)?\[[0-9;]{1,8}m|\x1b\[[0-9;?]*[A-Za-z]")
PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"PK\x03\x04": "zip"}
"""How packed files begin, and by what they are."""
_MESSAGES = ("log", "message", "msg", "MESSAGE", "textPayload")


def blocks(file: IO[bytes]) -> Iterator[bytes]:
    """Whole lines, many at a time; of a line longer than a block, what a block holds. UTF-16, as PowerShell writes it, is read too.

    Raises RequestError for a packed log.
    """
    rest = b""
    for chunk in _chunks(file):
        head, newline, tail = chunk.rpartition(b"\n")
        if newline:
            yield rest + head + newline
            rest = tail
        elif len(rest) < _BLOCK:
            rest += chunk
    if rest:
        yield rest


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    chunk = file.read(_BLOCK)
    packed = next((name for magic, name in PACKED.items() if chunk.startswith(magic)), None)
    if packed is not None:
        raise RequestError("bad_file", f"expected a log, found one packed by {packed}", hint="unpack it: zcat LOG | kvplan explain -")
    if chunk[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        while chunk:
            yield chunk
            chunk = file.read(_BLOCK)
        return
    import codecs

    decode = codecs.getincrementaldecoder("utf-16")(errors="replace").decode
    while chunk:
        yield decode(chunk).encode("utf-8", "replace")
        chunk = file.read(_BLOCK)


def plain(line: bytes) -> str:
    """The text of a line: what the engine printed."""
    text = line[:MOST_BYTES].decode("utf-8", "replace").rstrip("\r\n")
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
    said = [str(place[key]) for place in places for key in _MESSAGES if isinstance(place.get(key), str)]
    target = record.get("target")
    head = f"{target}: " if isinstance(target, str) else ""
    return head + " ".join(said).rstrip("\n") if said else text
