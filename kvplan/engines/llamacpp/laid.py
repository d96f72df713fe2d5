"""Everything that settings make of a model's memory: one context laid out over the devices."""

from kvplan.core.device import Node
from kvplan.core.model import ModelSpec
from kvplan.core.remembered import cached
from kvplan.engines.llamacpp import compute, context, loading, output
from kvplan.engines.llamacpp.cache import Cache, Pool, in_pools, pools
from kvplan.engines.llamacpp.copies import Copy, copies
from kvplan.engines.llamacpp.devices import Layout
from kvplan.engines.llamacpp.frame import Frame, frame
from kvplan.engines.llamacpp.rows import Kind
from kvplan.engines.llamacpp.settings import Settings


class Laid:
    """A model under settings; each part is computed when it is first asked for."""

    def __init__(self, model: ModelSpec, settings: Settings, node: Node, known: Frame | None = None) -> None:
        """Nothing is computed yet but what other contexts have in common with this one; that may be ``known``."""
        self.model, self.settings, self.node = model, settings, node
        self.frame: Frame = known or frame(model, settings, node)

    @cached
    def context(self) -> context.Context:
        """Tokens, slots and batches."""
        return context.resolved(self.model, self.settings, self.frame.manner)

    @property
    def layout(self) -> Layout:
        """The device of each block."""
        return self.frame.layout

    @property
    def weights(self) -> loading.Loaded:
        """The model's buffers."""
        return self.frame.weights

    @cached
    def pools(self) -> dict[Kind, Pool]:
        """Cells of each kind of cache."""
        return pools(self.frame.kinds, self.settings, self.context)

    @cached
    def cache(self) -> Cache:
        """Keys, values and states."""
        return in_pools(self.frame.rates, self.pools)

    @cached
    def compute(self) -> compute.Reserved:
        """Compute buffers by device."""
        return compute.compute(self.frame, self.settings, self.context, self.pools)

    @cached
    def copies(self) -> dict[str, Copy]:
        """Copies of keys and values in 16 bits, by device."""
        return copies(self.settings, self.context, self.frame, self.pools)

    @cached
    def output_bytes(self) -> int:
        """Rows of logits that the host reads."""
        return output.output_bytes(self.model, self.settings, self.context)

    def placed(self, n_gpu_layers: int, n_cpu_moe: int) -> "Laid":
        """The same context and slots, with other layers and experts on the host."""
        settings = self.settings._replace(n_gpu_layers=n_gpu_layers, n_cpu_moe=n_cpu_moe)
        found = Laid(self.model, settings, self.node, self.frame.placed(n_gpu_layers, n_cpu_moe))
        found.__dict__.update(context=self.context, pools=self.pools)  # which no placement changes
        return found

    @property
    def host_buffer(self) -> str:
        """What the host's compute and output buffers are called."""
        return self.frame.host_buffer

    @cached
    def cached(self) -> dict[tuple[Kind, str], int]:
        """Bytes of each kind of cache by buffer."""
        return {(kind, name): n_bytes * self.pools[kind].n_cells for kind, name, n_bytes in self.frame.cells}

    def place(self, buffer: str) -> str:
        """The place of a buffer: gpu0 … for devices, else the host."""
        return self.frame.place(buffer)
