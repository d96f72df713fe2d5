"""What a model, its placement and its cache types come to, whatever the context and the slots: found once for many of those."""

from kvplan.core.device import Node
from kvplan.core.ledger import Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.pace import Held, by_place
from kvplan.core.remembered import Remembered, cached
from kvplan.core.units import MIB
from kvplan.engines.llamacpp import loading, refusals, tables
from kvplan.engines.llamacpp.cache import Rate, kinds, rates
from kvplan.engines.llamacpp.context import Manner, manner
from kvplan.engines.llamacpp.devices import CPU, Layout, layout
from kvplan.engines.llamacpp.placement import pinned
from kvplan.engines.llamacpp.rows import Kind, Row
from kvplan.engines.llamacpp.settings import Settings

_FROM, _TO = Settings._fields.index("n_ctx"), Settings._fields.index("kv_unified") + 1  # what contexts and slots change, side by side


class Frame:
    """A model under settings but for context and slots; each part is computed when it is first asked for."""

    def __init__(self, model: ModelSpec, settings: Settings, node: Node) -> None:
        """Nothing is computed yet."""
        self.model, self._settings, self._node = model, settings, node
        self._placed: dict[tuple[int, int], Frame] = {}

    def placed(self, n_gpu_layers: int, n_cpu_moe: int) -> "Frame":
        """The same with other layers, and experts, on the host."""
        key = n_gpu_layers, n_cpu_moe
        if key not in self._placed:
            self._placed[key] = Frame(self.model, self._settings._replace(n_gpu_layers=n_gpu_layers, n_cpu_moe=n_cpu_moe), self._node)
        return self._placed[key]

    @cached
    def manner(self) -> Manner:
        """How its contexts are made."""
        return manner(self.model, self._settings)

    @cached
    def layout(self) -> Layout:
        """The device of each block."""
        return layout(self._settings, self._node, tables.n_blocks(self.model))

    @cached
    def weights(self) -> loading.Loaded:
        """The model's buffers."""
        return loading.loaded(self.model, self._settings, self.layout)

    @cached
    def device_weights(self) -> int:
        """Bytes of weights on devices."""
        return sum(n_bytes for name, n_bytes in self.weights.buffers.items() if name in self.layout.names)

    @cached
    def budget(self) -> int:
        """Free bytes of all devices less the margin that ``--fit`` leaves on each."""
        settings, places = self._settings, self._node.places()
        margins = [*settings.fit_target_mib, *settings.fit_target_mib[-1:] * len(settings.devices)]
        return sum((places[index].usable_bytes or 0) - margin * MIB for index, margin in zip(settings.devices, margins, strict=False))

    @cached
    def rates(self) -> tuple[Rate, ...]:
        """Bytes of cells by layer."""
        return rates(self.model, self._settings)

    @cached
    def kinds(self) -> dict[Kind, Row]:
        """The first row of each kind of cache."""
        return kinds(self.rates)

    @cached
    def widths(self) -> dict[str, int]:
        """Elements of the widest value in each kind of cache."""
        found: dict[str, int] = {}
        for rate in self.rates:
            found[rate.row.kind] = max(found.get(rate.row.kind, 0), rate.row.v_elems)
        return found

    @cached
    def cells(self) -> tuple[tuple[Kind, str, int], ...]:
        """Bytes of a cell of each kind of cache by buffer, over all layers."""
        found: dict[tuple[Kind, str], int] = {}
        for rate in self.rates:
            end = rate.first + rate.n_layers
            blocks = self.layout.blocks[rate.first : end] if self._settings.offload_kqv else (CPU,) * rate.n_layers
            for device in dict.fromkeys(blocks):
                key = rate.row.kind, self.layout.name(device)
                found[key] = found.get(key, 0) + blocks.count(device) * (rate.k_bytes + rate.v_bytes)
        return tuple((*key, n_bytes) for key, n_bytes in found.items())

    @cached
    def device_cells(self) -> tuple[tuple[Kind, int], ...]:
        """Those on devices."""
        return tuple((kind, n_bytes) for kind, name, n_bytes in self.cells if name in self.layout.names)

    @cached
    def host_buffer(self) -> str:
        """What the host's compute and output buffers are called: pinned memory of the first device, where there is one."""
        return pinned(self.layout) if self.layout.names and self._settings.pinned_host else "CPU"

    @cached
    def held(self) -> Held:
        """What steps read."""
        weights = by_place((self.place(buffer), n_bytes) for buffer, n_bytes in self.weights.buffers.items())
        return Held(weights, self._settings.type_k, self._settings.type_v)

    @cached
    def refusals(self) -> tuple[tuple[Refusal, ...], tuple[Refusal, ...]]:
        """What stops it with as many slots as it takes, and with more."""
        few, many = (self._settings._replace(n_parallel=n) for n in (1, refusals.MAX_SEQUENCES + 1))
        return refusals.refusals(self.model, few, self._node), refusals.refusals(self.model, many, self._node)

    def place(self, buffer: str) -> str:
        """The place of a buffer: gpu0 … for devices, else the host."""
        return self._places.get(buffer, "host")

    @cached
    def _places(self) -> dict[str, str]:
        return {name: f"gpu{index}" for name, index in zip(self.layout.names, self._settings.devices, strict=True)}


_known: Remembered[Frame] = Remembered(256)


def frame(model: ModelSpec, settings: Settings, node: Node) -> Frame:
    """The frame that all contexts and slots of these settings share."""
    return _known.get(model, (settings[:_FROM], settings[_TO:], node), lambda: Frame(model, settings, node))
