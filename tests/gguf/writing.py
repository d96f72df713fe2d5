"""GGUF files for tests: written from plain Python values, or wrong on purpose."""

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

CODES = {"uint8": (0, "B"), "int8": (1, "b"), "uint16": (2, "H"), "int16": (3, "h"), "uint32": (4, "I"), "int32": (5, "i")}
CODES |= {"float32": (6, "f"), "bool": (7, "?"), "uint64": (10, "Q"), "int64": (11, "q"), "float64": (12, "d")}
STRING, ARRAY = 8, 9


class Typed(NamedTuple):
    """A value of a certain type: a scalar, or a list for an array."""

    kind: str
    value: object


class Entry(NamedTuple):
    """A tensor as the table says it; ``n_bytes`` is what its data takes."""

    name: str
    shape: Sequence[int]
    type_id: int
    n_bytes: int
    offset: int | None = None


class Bytes:
    """A file in memory that remembers what was asked of it. ``size`` may claim more than is there, as sparse files do."""

    def __init__(self, data: bytes, size: int | None = None, name: str = "model.gguf") -> None:
        self.name, self.data, self.size = name, data, len(data) if size is None else size
        self.reads: list[tuple[int, int]] = []

    def read(self, start: int, stop: int) -> bytes:
        assert 0 <= start <= stop <= self.size
        self.reads.append((start, stop))
        return self.data[start:stop].ljust(stop - start, b"\0") if self.size > len(self.data) else self.data[start:stop]

    @property
    def n_read(self) -> int:
        return sum(stop - start for start, stop in self.reads)


def string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def keyed(key: str | bytes, value: object) -> bytes:
    """One key and its value; plain ints are uint32, floats float32."""
    return string(key) + _typed(value)


def _typed(value: object) -> bytes:
    if isinstance(value, str | bytes):
        return struct.pack("<I", STRING) + string(value)
    if not isinstance(value, Typed):
        return _typed(Typed("bool" if isinstance(value, bool) else "uint32" if isinstance(value, int) else "float32", value))
    if isinstance(value.value, list):
        return struct.pack("<I", ARRAY) + _items(value.kind, value.value)
    number, code = CODES[value.kind]
    return struct.pack(f"<I{code}", number, value.value)


def _items(kind: str, items: list[object]) -> bytes:
    if kind == "string":
        return struct.pack("<IQ", STRING, len(items)) + b"".join(string(str(item)) for item in items)
    number, code = CODES[kind]
    return struct.pack(f"<IQ{len(items)}{code}", number, len(items), *items)


def entry(tensor: Entry, offset: int) -> bytes:
    sizes = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
    return string(tensor.name) + sizes + struct.pack("<IQ", tensor.type_id, offset)


def header(values: Mapping[str, object], tensors: Sequence[Entry] = (), *, alignment: int = 32, version: int = 3) -> tuple[bytes, int]:
    """The header, padded, and the bytes of data that belong behind it."""
    parts = [b"GGUF", struct.pack("<IQQ", version, len(tensors), len(values))]
    parts += [keyed(key, value) for key, value in values.items()]
    due = end = 0
    for tensor in tensors:
        parts.append(entry(tensor, due if tensor.offset is None else tensor.offset))
        end = due + tensor.n_bytes
        due += -(-tensor.n_bytes // alignment) * alignment
    head = b"".join(parts)
    return head + bytes(-len(head) % alignment), end


def source(values: Mapping[str, object], tensors: Sequence[Entry] = (), *, alignment: int = 32, version: int = 3) -> Bytes:
    """A sound file whose data are zeros that take no memory."""
    head, n_data = header(values, tensors, alignment=alignment, version=version)
    return Bytes(head, len(head) + n_data)


def llama(**changes: object) -> dict[str, object]:
    """The keys of a small model, with ``changes`` (their dots written as ``__``)."""
    keys: dict[str, object] = {"context_length": 128, "embedding_length": 256, "block_count": 2, "feed_forward_length": 512}
    keys |= {"attention.head_count": 4, "attention.head_count_kv": 2, "rope.dimension_count": 64, "vocab_size": 10}
    values = {"general.architecture": "llama"} | {f"llama.{key}": value for key, value in keys.items()}
    return values | {key.replace("__", "."): value for key, value in changes.items()}


def llama_tensors() -> list[Entry]:
    """Its tensors, those of blocks in Q4_K."""
    rows = {"attn_q": (256, 256), "attn_k": (256, 128), "attn_v": (256, 128), "attn_output": (256, 256)}
    rows |= {"ffn_gate": (256, 512), "ffn_up": (256, 512), "ffn_down": (512, 256)}
    tensors = [Entry("token_embd.weight", (256, 10), 12, 1440), Entry("output_norm.weight", (256,), 0, 1024)]
    for block in range(2):
        tensors += [Entry(f"blk.{block}.{name}.weight", (256,), 0, 1024) for name in ("attn_norm", "ffn_norm")]
        tensors += [Entry(f"blk.{block}.{name}.weight", sizes, 12, sizes[0] * sizes[1] // 256 * 144) for name, sizes in rows.items()]
    return tensors
