"""A large JSON object, parsed a piece at a time: memory stays small whatever nonsense is nested in it."""

import json
from collections.abc import Iterator

MAX_ENTRY_BYTES = 2**20
_CHUNK_BYTES = 2**18


def entries(text: bytes) -> Iterator[tuple[str, object]]:
    """Key and value of the object that ``text`` is, spaces behind it allowed, whose values are objects themselves.

    Keys that stand twice are told within a chunk only. Raises ValueError for what is no JSON, no UTF-8, nested too deeply
    or an entry of more than ``MAX_ENTRY_BYTES``.
    """
    start, end = 1, text.rfind(b"}")
    if text[:1] != b"{" or text.count(b" ", end + 1) != len(text) - end - 1:
        raise ValueError("expected one object, from '{' to '}'")
    more = True
    while more:
        chunk, stop, more = _chunk(text, start, end)
        if not chunk and start > 1:
            raise ValueError("an entry is missing behind a comma")
        yield from chunk.items()
        start = stop + 1


def _chunk(text: bytes, start: int, end: int) -> tuple[dict[str, object], int, bool]:
    """The entries from ``start``, where they end, and whether more follow.

    A comma behind a closing brace ends an entry, unless it stands in a text or deeper: then the chunk does not parse and
    is made longer.
    """
    size, problem = _CHUNK_BYTES, ""
    while size <= MAX_ENTRY_BYTES:
        more = end - start > size
        stop = text.rfind(b"},", start, start + size) + 1 if more else end
        if stop:
            try:
                return _parsed(text[start:stop]), stop, more
            except ValueError as found:
                problem = getattr(found, "msg", None) or str(found)  # places in a chunk would mislead
        if not more:
            break
        size *= 2
    raise ValueError(problem or f"an entry longer than {MAX_ENTRY_BYTES:,} bytes")


def _parsed(inside: bytes) -> dict[str, object]:
    """The object between whose braces ``inside`` stands."""
    try:
        value: dict[str, object] = json.loads(f"{{{inside.decode()}}}", object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"'{next(key for key in keys if keys.count(key) > 1)}' appears twice in one object")
    return mapping
