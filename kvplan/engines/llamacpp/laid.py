"""Everything that settings make of a model's memory: one context laid out over the devices."""

from functools import cached_property

from kvplan.core.device import Node
from kvplan.core.model import ModelSpec
from kvplan.core.remembered import Remembered
from kvplan.engines.llamacpp import compute, context, loading, output, tables
from kvplan.engines.llamacpp.cache import Cache, cache
from kvplan.engines.llamacpp.copies import Copy, copies
from kvplan.engines.llamacpp.devices import CPU, Layout, layout
from kvplan.engines.llamacpp.placement import pinned
from kvplan.engines.llamacpp.rows import Kind
from kvplan.engines.llamacpp.settings import Settings


class Laid:
    """A model under settings; each part is computed when it is first asked for."""

    def __init__(self, model: ModelSpec, settings: Settings, node: Node) -> None:
        """Nothing is computed yet."""
        self.model, self.settings, self.node = model, settings, node

    @cached_property
    def context(self) -> context.Context:
        """Tokens, slots and batches."""
        return context.resolved(self.model, self.settings)

    @cached_property
    def layout(self) -> Layout:
        """The device of each block."""
        return layout(self.settings, self.node, tables.n_blocks(self.model))

    @cached_property
    def weights(self) -> loading.Loaded:
        """The model's buffers."""
        return loading.loaded(self.model, self.settings, self.layout)

    @cached_property
    def cache(self) -> Cache:
        """Keys, values and states."""
        return cache(self.model, self.settings, self.context, self.model.runs)

    @cached_property
    def compute(self) -> compute.Reserved:
        """Compute buffers by device."""
        return compute.compute(self.model, self.settings, self.context, self.cache, self.layout, self.weights.overridden)

    @cached_property
    def copies(self) -> dict[str, Copy]:
        """Copies of keys and values in 16 bits, by device."""
        return copies(self.settings, self.context, self.cache, self.layout)

    @cached_property
    def output_bytes(self) -> int:
        """Rows of logits that the host reads."""
        return output.output_bytes(self.model, self.settings, self.context)

    @property
    def host_buffer(self) -> str:
        """What the host's compute and output buffers are called: pinned memory of the first device, where there is one."""
        return pinned(self.layout) if self.layout.names and self.settings.pinned_host else "CPU"

    @cached_property
    def cached(self) -> dict[tuple[Kind, str], int]:
        """Bytes of each kind of cache by buffer."""
        pools = self.cache.pools
        return {(kind, name): rate * pools[kind].n_cells for (kind, name), rate in self._rates.items()}

    @cached_property
    def _rates(self) -> dict[tuple[Kind, str], int]:
        """Bytes of a cell of each kind of cache by buffer, over all layers; the same for all contexts."""
        settings = self.settings
        key = (self.layout, settings.offload_kqv, settings.type_k, settings.type_v, self.context.flash_attn)
        return _known.get(self.model, key, lambda: _rates(self.cache, self.layout, offload_kqv=settings.offload_kqv))

    def place(self, buffer: str) -> str:
        """The place of a buffer: gpu0 … for devices, else the host."""
        if buffer not in self.layout.names:
            return "host"
        return f"gpu{self.settings.devices[self.layout.names.index(buffer)]}"


_known: Remembered[dict[tuple[Kind, str], int]] = Remembered(256)


def _rates(cache: Cache, layout: Layout, *, offload_kqv: bool) -> dict[tuple[Kind, str], int]:
    found: dict[tuple[Kind, str], int] = {}
    for held in cache.held:
        blocks = layout.blocks[held.first : held.first + held.n_layers] if offload_kqv else (CPU,) * held.n_layers
        rate = (held.k_bytes + held.v_bytes) // cache.pools[held.row.kind].n_cells
        for device in dict.fromkeys(blocks):
            key = held.row.kind, layout.name(device)
            found[key] = found.get(key, 0) + blocks.count(device) * rate
    return found
