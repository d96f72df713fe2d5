"""The tensor table of a GGUF header: what each tensor is, and that the file holds it where the format lays it."""

import struct

from kvplan.core.checkpoint import Tensor
from kvplan.core.dtypes import DTYPES
from kvplan.core.units import ceil_to
from kvplan.specs.gguf.types import REMOVED, TYPES
from kvplan.specs.gguf.window import Window

MAX_NAME_BYTES = 64  # the format's own limit
MAX_DIMS = 4
MAX_ELEMS = 2**63 - 1  # GGML counts in 64 bits, signed
_SIZES_TYPE_OFFSET = [struct.Struct(f"<{n_dims}QIQ") for n_dims in range(MAX_DIMS + 1)]


def read_tensors(window: Window, n_tensors: int, alignment: int) -> tuple[Tensor, ...]:
    """The next ``n_tensors`` entries. Their data must lie one after the other, each begun at a multiple of ``alignment`` bytes.

    Raises RequestError: unknown or removed type, rows of broken blocks, a name that stands twice, gaps and overlaps.
    """
    tensors: list[Tensor] = []
    names: set[str] = set()
    due = 0
    for _ in range(n_tensors):
        entry = window.offset
        tensor, offset = _tensor(window)
        if tensor.name in names:
            raise window.error(entry, f"tensor '{tensor.name}' stands twice")
        if offset != due:
            raise window.error(entry, f"tensor '{tensor.name}': {_misplaced(offset, due, alignment)}")
        names.add(tensor.name)
        tensors.append(tensor)
        due += ceil_to(tensor.n_bytes, alignment)
    return tuple(tensors)


def check_end(window: Window, tensors: tuple[Tensor, ...], data_offset: int, alignment: int) -> None:
    """Raises RequestError where the file ends before its tensors do."""
    if not tensors:
        return
    stop = data_offset + sum(ceil_to(tensor.n_bytes, alignment) for tensor in tensors[:-1]) + tensors[-1].n_bytes
    missing = stop - window.source.size
    if missing > 0:
        raise window.error(
            window.source.size,
            f"the file ends here; its tensors need {stop:,} bytes, {missing:,} are missing",
            hint="the download was cut short: fetch the file again",
        )


def _tensor(window: Window) -> tuple[Tensor, int]:
    """One entry, and where its data begins, counted from the first tensor's."""
    entry = window.offset
    name = window.text("a tensor's name", most=MAX_NAME_BYTES)
    n_dims = window.u32()
    if n_dims > MAX_DIMS:
        raise window.error(entry, f"tensor '{name}' has {n_dims:,} dimensions; expected at most {MAX_DIMS}")
    *sizes, type_id, offset = window.whole(_SIZES_TYPE_OFFSET[n_dims])
    shape = tuple(sizes)
    if type_id not in TYPES:
        raise window.error(entry, f"tensor '{name}' has {_no_type(type_id)}", hint="newer than this version knows, or damaged")
    tensor = Tensor(name, TYPES[type_id], shape, 0)
    if 0 in shape or tensor.n_elems > MAX_ELEMS:
        raise window.error(entry, f"tensor '{name}' has the sizes {list(shape)}; expected 1 to 2^63−1 elements")
    return tensor._replace(n_bytes=_stored_bytes(window, tensor, entry)), offset


def _stored_bytes(window: Window, tensor: Tensor, entry: int) -> int:
    """Rows of whole blocks. Raises RequestError where a row ends within one, as llama.cpp does."""
    dtype, row = DTYPES[tensor.dtype], tensor.shape[0] if tensor.shape else 1
    if row % dtype.block_elems:
        raise window.error(
            entry, f"tensor '{tensor.name}' has rows of {row:,}; expected a multiple of {dtype.block_elems} for {dtype.name}"
        )
    return tensor.n_elems // dtype.block_elems * dtype.block_bytes


def _no_type(type_id: int) -> str:
    if type_id in REMOVED:
        return f"the type {type_id} ({REMOVED[type_id]}), which was removed from GGML: no current engine reads it"
    return f"the unknown type {type_id}"


def _misplaced(offset: int, due: int, alignment: int) -> str:
    if offset % alignment:
        return f"expected its data at a multiple of {alignment}, found it at {offset:,}"
    found = "overlaps the tensor before" if offset < due else "leaves a gap"
    return f"expected its data at {due:,}, found it at {offset:,}: it {found}"
