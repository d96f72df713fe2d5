"""Safetensors files of the tests: written small, or with no data at all."""

import json
import struct
from collections.abc import Mapping, Sequence

from kvplan.core.dtypes import DTYPES
from kvplan.specs.safetensors import ELEMENTS

Layout = Mapping[str, tuple[str, Sequence[int]]]
"""Tensors by name: dtype as the format writes it, and shape."""


class InMemory:
    """A Source whose data are only claimed: ``head`` is what can be read, ``size`` what the file would have."""

    def __init__(self, head: bytes, size: int | None = None, name: str = "model.safetensors") -> None:
        self.name, self.size = name, len(head) if size is None else size
        self.head = head
        self.reads: list[tuple[int, int]] = []

    def read(self, start: int, stop: int) -> bytes:
        self.reads.append((start, stop))
        return self.head[start:stop]


def entries(layout: Layout) -> dict[str, object]:
    """The header of ``layout``, tensors one behind the other."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    begin = 0
    for name, (dtype, shape) in layout.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, begin := begin + n_bytes(dtype, shape)]}
    return header


def n_bytes(dtype: str, shape: Sequence[int]) -> int:
    n = 1
    for size in shape:
        n *= size
    return DTYPES[ELEMENTS[dtype]].row_bytes(n)


def total(layout: Layout) -> int:
    return sum(n_bytes(dtype, shape) for dtype, shape in layout.values())


def framed(header: object) -> bytes:
    """Length and text of a header; ``header`` may be text already."""
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text


def claimed(layout: Layout, name: str = "model.safetensors") -> InMemory:
    """A file of ``layout`` that has its header alone."""
    head = framed(entries(layout))
    return InMemory(head, len(head) + total(layout), name)


def whole(layout: Layout) -> bytes:
    """A file of ``layout``, all zeros."""
    return framed(entries(layout)) + bytes(total(layout))
