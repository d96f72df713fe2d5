"""Headers of safetensors files: which tensors lie where, without reading any.

Source: https://github.com/huggingface/safetensors#format: eight bytes with the header's length, little-endian, then one
JSON object: ``{"name": {"dtype": "F16", "shape": [1, 16], "data_offsets": [begin, end]}, "__metadata__": {…}}``. Offsets
count from the header's end; tensors fill the rest of the file without overlaps or holes. Limits as safetensors 0.8 has them.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import TypeGuard

from kvplan.core.checkpoint import Tensor
from kvplan.core.dtypes import DTYPES
from kvplan.core.errors import RequestError
from kvplan.specs.config import shown
from kvplan.specs.json_entries import entries
from kvplan.specs.sources import Source

ELEMENTS = {
    "BOOL": "bool",
    "F4": "float4_e2m1",
    "F6_E2M3": "float6_e2m3",
    "F6_E3M2": "float6_e3m2",
    "U8": "uint8",
    "I8": "int8",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "I16": "int16",
    "U16": "uint16",
    "F16": "float16",
    "BF16": "bfloat16",
    "I32": "int32",
    "U32": "uint32",
    "F32": "float32",
    "C64": "complex64",
    "F64": "float64",
    "I64": "int64",
    "U64": "uint64",
}
MAX_HEADER_BYTES = 100_000_000
FIRST_READ_BYTES = 100_000  # holds the header of most shards
MAX_TENSORS = 2**17  # as many as the largest models hold in all of their files
MAX_NAME_CHARS = 256  # real ones have half as many; what names say is searched for many words
MAX_DIMS = 64  # torch's own limit
_MAX_ELEMS = 2**63
_POINTER = b"version https://git-lfs"
_KEYS = {"dtype", "shape", "data_offsets"}


def read_header(source: Source) -> tuple[Tensor, ...]:
    """The tensors of a safetensors file in its header's order; two reads at most.

    Raises RequestError (``bad_safetensors``) for whatever the format does not allow, a file that is cut off included, and
    KvplanError where the source can't be read.
    """
    header, data_bytes = _header(source)
    found: dict[str, Tensor] = {}
    starts: list[int] = []
    for name, entry in _entries(header, source.name):
        if name == "__metadata__":
            _check_metadata(entry, source.name)
            continue
        if len(name) > MAX_NAME_CHARS:
            raise _bad(source.name, f"tensor '{name[:40]}…' has a name of {len(name):,} characters; expected at most {MAX_NAME_CHARS}")
        if name in found:
            raise _bad(source.name, f"tensor '{name}' appears twice")
        tensor, start = _tensor(name, entry, source.name)
        found[name] = tensor
        starts.append(start)
        if len(found) > MAX_TENSORS:
            raise _bad(source.name, f"more than {MAX_TENSORS:,} tensors")
    tensors = tuple(found.values())
    _check_places(tensors, starts, data_bytes, source.name)
    return tensors


def _bad(where: str, message: str, *, hint: str = "download or save the file anew") -> RequestError:
    return RequestError("bad_safetensors", f"{where}: {message}", hint=hint)


def _header(source: Source) -> tuple[bytes, int]:
    """The JSON text, and the bytes that follow it."""
    name, size = source.name, source.size
    first = source.read(0, min(size, FIRST_READ_BYTES))
    if first.startswith(_POINTER):
        raise _bad(name, "a Git LFS pointer, not the file itself", hint="run `git lfs pull` in its folder")
    if len(first) < 10:
        raise _bad(name, f"expected a header, found {size:,} bytes")
    stop = 8 + int.from_bytes(first[:8], "little")
    if stop > size:
        raise _bad(name, f"its first bytes give a header of {stop - 8:,} bytes, the file has {size:,}", hint="is it a safetensors file?")
    if stop - 8 > MAX_HEADER_BYTES:
        raise _bad(name, f"a header of {stop - 8:,} bytes; the format allows {MAX_HEADER_BYTES:,}")
    if first[8:9] != b"{":
        raise _bad(name, f"expected the header to begin with '{{', found {ascii(first[8:9])[1:]}", hint="is it a safetensors file?")
    header = first[8:stop] if stop <= len(first) else source.read(8, stop)
    if len(header) < stop - 8:
        raise _bad(name, f"cut off within its header: {len(header):,} of {stop - 8:,} bytes")
    return header, size - stop


def _entries(header: bytes, where: str) -> Iterator[tuple[str, object]]:
    try:
        yield from entries(header)
    except ValueError as problem:
        raise _bad(where, f"its header can't be read: {problem}") from None


def _tensor(name: str, entry: object, where: str) -> tuple[Tensor, int]:
    """One entry, checked but for its place among the others, and where it begins."""
    if not isinstance(entry, dict) or entry.keys() != _KEYS:
        found = f"the keys {', '.join(sorted(entry))}" if isinstance(entry, dict) else shown(entry)
        raise _bad(where, f"tensor '{name}': expected dtype, shape and data_offsets, found {found}")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    element = ELEMENTS.get(dtype) if isinstance(dtype, str) else None
    if element is None:
        raise _bad(where, f"tensor '{name}': unknown dtype {shown(dtype)}", hint=f"known: {', '.join(ELEMENTS)}")
    n_elems = _n_elems(shape)
    if n_elems is None:
        raise _bad(where, f"tensor '{name}': expected a shape of sizes that a file can hold, found {shown(shape)}")
    if not _whole(offsets) or len(offsets) != 2 or offsets[1] < offsets[0]:
        raise _bad(where, f"tensor '{name}': expected data_offsets [begin, end], found {shown(offsets)}")
    block, n_bytes = DTYPES[element], offsets[1] - offsets[0]
    if n_elems * block.block_bytes != n_bytes * block.block_elems:
        raise _bad(where, f"tensor '{name}': {dtype} of shape {shown(shape)} does not fill its {n_bytes:,} bytes")
    return Tensor(name, element, tuple(shape), n_bytes), offsets[0]


def _n_elems(shape: object) -> int | None:
    """Elements of a shape; None for what is none, or too large to be one."""
    if not _whole(shape) or len(shape) > MAX_DIMS or max(shape, default=0) >= _MAX_ELEMS:
        return None
    n = prod(shape)
    return n if n < _MAX_ELEMS else None


def _whole(values: object) -> TypeGuard[list[int]]:
    """Whether it is a list of whole numbers of at least 0."""
    return type(values) is list and {*map(type, values)} <= {int} and min(values, default=0) >= 0


def _check_metadata(entry: object, where: str) -> None:
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise _bad(where, f"__metadata__: expected texts by name, found {shown(entry)}")


def _check_places(tensors: Sequence[Tensor], starts: Sequence[int], data_bytes: int, where: str) -> None:
    """Tensors follow one another from the header's end to the file's."""
    order = sorted(range(len(tensors)), key=lambda i: tensors[i].n_bytes)
    reached, before = 0, ""
    for i in sorted(order, key=starts.__getitem__):
        name, start = tensors[i].name, starts[i]
        if start != reached:
            what = f"overlaps '{before}'" if start < reached else f"leaves {start - reached:,} bytes before it unused"
            raise _bad(where, f"tensor '{name}' at {start:,} to {start + tensors[i].n_bytes:,} {what}")
        reached, before = start + tensors[i].n_bytes, name
    if reached > data_bytes:
        raise _bad(where, f"cut off: its tensors take {reached:,} bytes behind the header, the file has {data_bytes:,}")
    if reached < data_bytes:
        raise _bad(where, f"{data_bytes - reached:,} bytes behind its last tensor belong to none")
