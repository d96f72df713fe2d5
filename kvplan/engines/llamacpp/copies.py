"""Keys and values that CUDA's flash attention wants in 16 bits: of a cache in another type it makes a copy, of one layer at a time.

Source: ggml 0.26 src/ggml-cuda/fattn.cu, read, not measured: kernels for many tokens take F16 alone. A cache in float32 is
converted by the graph itself, on every device.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.engines.llamacpp.cache import Pool
from kvplan.engines.llamacpp.context import Context
from kvplan.engines.llamacpp.frame import Frame
from kvplan.engines.llamacpp.rows import Kind, Row
from kvplan.engines.llamacpp.settings import Settings

_AS_THEY_ARE = ("f16", "f32")
_BACKENDS = ("CUDA", "ROCm", "MUSA")


class Copy(NamedTuple):
    """The largest copy that a device makes: which cache it is of, and its bytes for each cell."""

    kind: Kind
    cell_bytes: int
    n_cells: int

    @property
    def n_bytes(self) -> int:
        """All cells and streams."""
        return self.n_cells * self.cell_bytes


def copies(settings: Settings, context: Context, frame: Frame, pools: Mapping[Kind, Pool]) -> dict[str, Copy]:
    """The copy of each device that makes one, by buffer."""
    if not context.flash_attn or not settings.offload_kqv or {settings.type_k, settings.type_v} <= {*_AS_THEY_ARE}:
        return {}
    found: dict[str, Copy] = {}
    layout = frame.layout
    for rate in frame.rates:
        copy = Copy(rate.row.kind, _cell_bytes(rate.row, settings), pools[rate.row.kind].n_cells)
        for device in dict.fromkeys(layout.blocks[rate.first : rate.first + rate.n_layers]):
            name = layout.name(device)
            if name.startswith(_BACKENDS) and copy.n_bytes > (found[name].n_bytes if name in found else 0):
                found[name] = copy
    return found


def _cell_bytes(row: Row, settings: Settings) -> int:
    """Of what attention reads; values that are a part of the keys (MLA) are not copied apart."""
    if row.kind not in ("full", "swa"):
        return 0
    parts = ((row.k_elems, settings.type_k), (row.v_elems, settings.type_v))
    return sum(2 * elems for elems, kind in parts if kind not in _AS_THEY_ARE)
