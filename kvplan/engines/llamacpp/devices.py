"""Which device each layer runs on: how many are offloaded, and how several devices share them."""

from functools import lru_cache
from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.engines.llamacpp.rules import rules_for
from kvplan.engines.llamacpp.settings import Settings

CPU = -1
_BACKENDS = {"nvidia": "CUDA", "amd": "ROCm", "apple": "MTL", "intel": "SYCL"}


class Layout(NamedTuple):
    """The device of each block, and of the output behind them: an index into the devices used, CPU (-1) for the host.

    ``names`` are the devices' own, as llama.cpp prints them.
    """

    blocks: tuple[int, ...]
    output: int
    names: tuple[str, ...]

    @property
    def all_offloaded(self) -> bool:
        """Whether no block and not the output stays on the host."""
        return CPU not in self.blocks and self.output != CPU

    def name(self, device: int) -> str:
        """The buffer type of ``device``."""
        return "CPU" if device == CPU else self.names[device]


def layout(settings: Settings, node: Node, n_blocks: int) -> Layout:
    """Where ``n_blocks`` (next-token layers included) and the output go: the same for all contexts."""
    return _layout(settings._replace(n_ctx=0, n_parallel=0), node, n_blocks)


@lru_cache(maxsize=1024)
def _layout(settings: Settings, node: Node, n_blocks: int) -> Layout:
    """The layout of settings without a context.

    Source: llama.cpp b11434 src/llama-model.cpp, load_tensors: i_gpu_start, splits, get_layer_buft_list.
    """
    used = settings.devices
    names = tuple(_name(node, index) for index in used)
    n_slots = n_blocks + 1
    n_offloaded = n_slots if settings.n_gpu_layers < 0 else min(settings.n_gpu_layers, n_slots)
    if not used or not n_offloaded:
        return Layout((CPU,) * n_blocks, CPU, names)
    start = n_slots - n_offloaded
    output_first = rules_for(settings.version)[0].output_first
    if not output_first:
        start = max(0, n_blocks - n_offloaded)
    cumulative = _cumulative(settings, node, used)
    slots = [CPU if i < start else _slot(cumulative, i - start, n_offloaded) for i in range(n_slots)]
    output_stays = not output_first and n_offloaded < n_slots
    return Layout(tuple(slots[:-1]), CPU if output_stays else slots[-1], names)


def _slot(cumulative: list[float], index: int, count: int) -> int:
    """The first device whose cumulative share is beyond this slot's."""
    return next((device for device, share in enumerate(cumulative) if share > index / count), len(cumulative) - 1)


def _cumulative(settings: Settings, node: Node, used: tuple[int, ...]) -> list[float]:
    """Shares of the devices summed up: those asked for, else by free memory."""
    places = node.places()
    shares = [float(share) for share in settings.tensor_split[: len(used)]] or [
        float(places[i].usable_bytes or 1) if i < len(places) else 1.0 for i in used
    ]
    shares += [0.0] * (len(used) - len(shares))
    whole, found = sum(shares) or 1.0, list[float]()
    for share in shares:
        found.append((found[-1] if found else 0.0) + share / whole)
    return found


def _name(node: Node, index: int) -> str:
    vendor = node.gpus[index].vendor.lower() if index < len(node.gpus) else ""
    return f"{_BACKENDS.get(vendor, 'CUDA')}{index}"
