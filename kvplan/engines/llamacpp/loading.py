"""The model's buffers: bytes of its tensors by buffer, and what of the file is mapped into memory.

Source: llama.cpp b11434 src/llama-model.cpp, load_tensors; src/llama-model-loader.cpp, get_mapping_range.
"""

from operator import attrgetter
from typing import NamedTuple

from kvplan.core.dtypes import DTYPES
from kvplan.core.model import ModelSpec
from kvplan.core.remembered import Remembered, once
from kvplan.core.units import ceil_to
from kvplan.engines.llamacpp import tables
from kvplan.engines.llamacpp.devices import Layout
from kvplan.engines.llamacpp.placement import Piece, maps, pieces, summed
from kvplan.engines.llamacpp.settings import Settings

_FILE_ALIGNMENT = 32
_DEVICE_ALIGNMENT, _ROW_ELEMS = 128, 512


class Loaded(NamedTuple):
    """``buffers`` are bytes by name, as the file has them. ``mapped_bytes`` is the span of the file from the first tensor of the
    host to the last, 0 where the file is read instead.
    ``padding`` is what devices add to rows and tensors, by name. ``overridden`` are blocks whose experts stay on the host."""

    buffers: dict[str, int]
    mapped_bytes: int
    padding: dict[str, int]
    overridden: frozenset[int]


_bearing = attrgetter(
    *("version", "n_gpu_layers", "devices", "split_mode", "tensor_split", "main_gpu", "override_tensors", "cpu_moe", "n_cpu_moe"),
    *("n_cpu_ffn", "load_mode", "repack", "pinned_host", "host", "drafting"),
)
_known: Remembered[Loaded] = Remembered(256)


def loaded(model: ModelSpec, settings: Settings, layout: Layout) -> Loaded:
    """The buffers; equal settings of one model object share them."""
    return _known.get(model, (layout, _bearing(settings)), lambda: _loaded(model, settings, layout))


def _loaded(model: ModelSpec, settings: Settings, layout: Layout) -> Loaded:
    tensors = tables.tensors(model)
    drafts_itself = settings.drafting is not None and settings.drafting.is_mtp
    skipped = 0 if drafts_itself else len(layout.blocks) - model.n_layers
    found = pieces(tensors, settings, layout, skipped)
    padding: dict[str, int] = {}
    for piece in found:
        if piece.buffer in layout.names:
            padding[piece.buffer] = padding.get(piece.buffer, 0) + _padding(piece)
    return Loaded(
        buffers=summed(found),
        mapped_bytes=_span(model, found) if maps(settings) else 0,
        padding=padding,
        overridden=_overridden(found, layout),
    )


def _padding(piece: Piece) -> int:
    """CUDA fills the last row of a quantized tensor to 512 elements, and aligns tensors to 128 bytes.

    Source: ggml 0.26 src/ggml-cuda/ggml-cuda.cu, ggml_backend_cuda_buffer_type_get_alloc_size.
    """
    kind, n_bytes = DTYPES[piece.tensor.dtype], piece.tensor.n_bytes
    missing = -piece.tensor.shape[0] % _ROW_ELEMS
    filled = n_bytes + (kind.row_bytes(missing) if kind.block_elems > 1 and missing else 0)
    return ceil_to(filled, _DEVICE_ALIGNMENT) - ceil_to(n_bytes, _FILE_ALIGNMENT)


@once
def _offsets(model: ModelSpec) -> dict[str, int]:
    offset, found = 0, {}
    for tensor in tables.tensors(model):
        found[tensor.name] = offset
        offset += ceil_to(tensor.n_bytes, _FILE_ALIGNMENT)
    return found


def _span(model: ModelSpec, found: list[Piece]) -> int:
    """From the first byte to the last of the tensors that the host reads from the file's own pages."""
    offsets = _offsets(model)
    here = [piece.tensor for piece in found if piece.buffer == "CPU"]
    if not here:
        return 0
    return max(offsets[tensor.name] + tensor.n_bytes for tensor in here) - min(offsets[tensor.name] for tensor in here)


def _overridden(found: list[Piece], layout: Layout) -> frozenset[int]:
    """Blocks on a device whose experts' tensors are not."""
    blocks = set()
    for piece in found:
        if "_exps" in piece.tensor.name and piece.buffer not in layout.names:
            block = int(piece.tensor.name.split(".", 2)[1])
            if layout.blocks[block] >= 0:
                blocks.add(block)
    return frozenset(blocks)
