"""Where ``device_map`` puts each module: one device after the other is filled, in the order of the modules.

Source: transformers 5.24 integrations/accelerate.py (get_balanced_memory, infer_auto_device_map); accelerate 1.15 utils/modeling.py
(get_max_memory, get_max_layer_size).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.engines.transformers.modules import Module, Tree
from kvplan.engines.transformers.unpacked import ON_THE_WAY

HOST, DISK = "cpu", "disk"
Device = int | str
"""The number of a GPU, or ``cpu``, or ``disk``."""

TIGHT = (*ON_THE_WAY, "bitsandbytes", "bitsandbytes_4bit", "bitsandbytes_8bit", "torchao", "quanto", "bitnet")
"""Quantizations whose budget is cut. Source: transformers 5.24 quantizers/quantizer_*.py, adjust_max_memory."""


class Budget(NamedTuple):
    """Bytes that each device may hold, GPUs first, then the host, in order; ``said`` where max_memory gave them."""

    limits: tuple[tuple[Device, int], ...]
    said: bool

    def tightened(self, method: str | None) -> "Budget":
        """Nine tenths of it for methods that need room while they quantize."""
        if method not in TIGHT:
            return self
        return self._replace(limits=tuple((device, limit * 9 // 10) for device, limit in self.limits))

    @property
    def gpus(self) -> list[int]:
        """Numbers of the GPUs that may hold anything."""
        return [device for device, limit in self.limits if isinstance(device, int) and limit > 0]


def balanced(tree: Tree, budget: Budget, *, low_zero: bool) -> Budget:
    """The budget with every GPU but the last cut to its share of the model, and a quarter more than the largest module beside it.

    A single GPU is filled to nine tenths unless max_memory says how far. ``low_zero`` keeps the first GPU as empty as it can.
    """
    gpus, limits = budget.gpus, dict(budget.limits)
    low_zero = low_zero and len(gpus) > 1
    if not gpus:
        return budget
    if len(gpus) == 1 and not budget.said:
        first = next(device for device in limits if isinstance(device, int))
        limits[first] = limits[first] * 9 // 10
    share = tree.size // (len(gpus) - 1 if low_zero else len(gpus)) + _beside(tree)
    for gpu in gpus[:-1]:
        limits[gpu] = min(limits[0] if low_zero and gpu == 0 else share, limits[gpu])
    if low_zero:
        rest = max(0, tree.size - sum(limits[gpu] for gpu in range(1, len(gpus))))
        limits[0] = min(rest, limits[0])
    return budget._replace(limits=tuple(limits.items()))


def _beside(tree: Tree) -> int:
    largest = max((module.size for module in tree.whole()), default=0)
    return largest * 5 // 4


def place(tree: Tree, budget: Budget) -> Mapping[str, Device]:
    """The device of every module that is not split; what fits nowhere else is left on disk.

    The first GPU and the host keep room for the largest module that is still to be placed: what is offloaded has to come back through
    them. Modules that share a weight go together.
    """
    limits: list[tuple[Device, int | None]] = [*budget.limits, *(() if DISK in dict(budget.limits) else ((DISK, None),))]
    first = next((device for device, _ in limits if isinstance(device, int)), None)
    todo, places, largest = [*reversed(tree.roots)], dict[str, Device](), _Largest(tree.roots)  # a stack: the next one is its end
    at = used = 0
    while todo:
        module = todo.pop()
        largest.pass_by(module, todo)
        device, limit = limits[at]
        kept = largest.size if device in (first, HOST) else 0
        tied = _tied(module, todo, tree)
        size = module.size + sum(other.size for other in tied)
        if limit is None or device == DISK or used + size <= limit - kept:
            used += size
            for placed in (module, *tied):
                places |= {part.name: device for part in placed.whole()}
            todo = [other for other in todo if other not in tied] if tied else todo
        elif module.children:
            todo += reversed(module.children)
            largest.renew(todo)
        else:
            at, used = at + 1, 0
            todo.append(module)
    return places


class _Largest:
    """The size of the largest module that is not split, renewed when all of that size have been placed."""

    def __init__(self, todo: Sequence[Module]) -> None:
        self.size = 0
        self._names: set[str] = set()
        self.renew(todo)

    def renew(self, todo: Sequence[Module]) -> None:
        """Look at what is still to be placed."""
        parts = [part for module in todo for part in module.whole()]
        self.size = max((part.size for part in parts), default=0)
        self._names = {part.name for part in parts if part.size == self.size}

    def pass_by(self, module: Module, todo: Sequence[Module]) -> None:
        """Forget what is placed now."""
        self._names.difference_update(part.name for part in module.whole())
        if not self._names:
            self.renew(todo)


def _tied(module: Module, todo: Sequence[Module], tree: Tree) -> list[Module]:
    """Modules still to be placed that share a weight with ``module``, and are not inside it."""
    names = [name for tie in tree.ties if any(_inside(name, module.name) for name in tie) for name in tie]
    outside = [name for name in names if not _inside(name, module.name)]
    return [other for other in todo if any(_inside(name, other.name) for name in outside)] if outside else []


def _inside(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")
