"""What a GGUF file's keys hold: scalars, text, short arrays of numbers; the rest is counted and left."""

import struct
from typing import NamedTuple

from kvplan.specs.gguf.window import Window


class Skipped(NamedTuple):
    """A value that is not kept: an array of ``n`` items of ``kind`` (strings, or too many numbers), or one text of ``n`` bytes.

    ``kind`` is the items' value type (``string``, ``float32``, ``int32``, …), or ``text``.
    """

    kind: str
    n: int


Value = bool | int | float | str | tuple[bool, ...] | tuple[int, ...] | tuple[float, ...] | Skipped

MAX_KEY_BYTES = 65_535  # the format's own limit
MAX_TEXT_BYTES = 4096  # chat templates and licenses are longer
MAX_ITEMS = 4096  # of an array kept: one number a layer, never one a token
MAX_KEPT = 8 * 2**20  # bytes that all keys and kept values take, about; real ones take some 20 KiB

_BOOL, _STRING, _ARRAY = 7, 8, 9
_KINDS = {
    0: ("uint8", "B"),
    1: ("int8", "b"),
    2: ("uint16", "H"),
    3: ("int16", "h"),
    4: ("uint32", "I"),
    5: ("int32", "i"),
    6: ("float32", "f"),
    _BOOL: ("bool", "B"),
    10: ("uint64", "Q"),
    11: ("int64", "q"),
    12: ("float64", "d"),
}
_PYTHON_BYTES = 40  # a number and its place in a tuple
_KEY_BYTES = 200  # a key's entry


def read_values(window: Window, n_keys: int) -> dict[str, Value]:
    """The next ``n_keys`` keys and their values. Raises RequestError: unknown type, nested array, key that stands twice."""
    values: dict[str, Value] = {}
    kept = 0
    for _ in range(n_keys):
        offset = window.offset
        key = window.text("a key", most=MAX_KEY_BYTES)
        if key in values:
            raise window.error(offset, f"key '{key}' stands twice")
        values[key] = value = _value(window, key)
        kept += _KEY_BYTES + len(key) * 4 + _kept_bytes(value)
        if kept > MAX_KEPT:
            raise window.error(offset, f"expected keys and values of at most {MAX_KEPT // 2**20} MiB, '{key}' makes them more")
    return values


def _kept_bytes(value: Value) -> int:
    if isinstance(value, str):
        return 4 * len(value)
    return _PYTHON_BYTES * len(value) if isinstance(value, tuple) else 0


def _value(window: Window, key: str) -> Value:
    offset, kind = window.offset, window.u32()
    if kind == _ARRAY:
        return _array(window, key)
    if kind == _STRING:
        return _string(window)
    name, code = _known(window, kind, key, offset)
    return _numbers(window, name, code, 1)[0]


def _string(window: Window) -> str | Skipped:
    n_bytes = window.u64()
    if n_bytes > MAX_TEXT_BYTES:
        window.skip(n_bytes, "a text")
        return Skipped("text", n_bytes)
    return window.take(n_bytes).decode(errors="replace")  # what people wrote; keys alone must be exact


def _array(window: Window, key: str) -> Value:
    offset, kind, n = window.offset, window.u32(), window.u64()
    if kind == _ARRAY:
        raise window.error(offset, f"'{key}' is an array of arrays, which GGUF does not have")
    if kind == _STRING:
        window.skip_strings(n)
        return Skipped("string", n)
    name, code = _known(window, kind, key, offset)
    if n > MAX_ITEMS:
        window.skip(n * struct.calcsize(code), f"{n:,} items of '{key}'")
        return Skipped(name, n)
    return _numbers(window, name, code, n)


def _known(window: Window, kind: int, key: str, offset: int) -> tuple[str, str]:
    if kind not in _KINDS:
        raise window.error(offset, f"'{key}' has the unknown value type {kind}; known are 0–12")
    return _KINDS[kind]


def _numbers(window: Window, name: str, code: str, n: int) -> tuple[bool, ...] | tuple[int, ...] | tuple[float, ...]:
    offset, layout = window.offset, f"<{n}{code}"
    numbers: tuple[int, ...] = struct.unpack(layout, window.take(struct.calcsize(layout)))
    if name != "bool":
        return numbers
    if any(number > 1 for number in numbers):
        raise window.error(offset, f"expected 0 or 1 for true or false, found {max(numbers)}")
    return tuple(number == 1 for number in numbers)
