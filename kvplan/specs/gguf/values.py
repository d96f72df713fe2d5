"""What a GGUF file's keys hold: scalars, text, short arrays of numbers; the rest is counted and left."""

from typing import NamedTuple


class Skipped(NamedTuple):
    """A value that is not kept: an array of ``n`` items of ``kind`` (strings, or too many numbers), or one text of ``n`` bytes.

    ``kind`` is the items' value type (``string``, ``float32``, ``int32``, …), or ``text``.
    """

    kind: str
    n: int


Value = bool | int | float | str | tuple[bool, ...] | tuple[int, ...] | tuple[float, ...] | Skipped
