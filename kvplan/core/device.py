"""The hardware as memory sees it."""

from typing import NamedTuple

from kvplan.core.units import GIB


class Gpu(NamedTuple):
    """One accelerator, as software sees it: of a board with two dies that show up apart, one.

    ``driver_bytes`` is the total that the driver prints (nvidia-smi), ``cuda_bytes`` the smaller one that CUDA gives
    to a process; where nobody read that one off a machine ``cuda_total_known`` is False. ``compute_capability`` is
    (major, minor) where NVIDIA defines one, ``gfx`` AMD's name of the instruction set. Rates are dense, bandwidth and
    FLOPS in decimal units; None where unknown. ``unified`` memory is shared with the host.
    ``memory_type`` (HBM3, GDDR6) and ``interconnect`` (NVLink4 900GB/s) are as vendors write them. ``verified`` names the
    fields of the catalogue that have a source beside memory.
    """

    id: str
    name: str
    vendor: str
    driver_bytes: int
    cuda_bytes: int
    cuda_total_known: bool = True
    compute_capability: tuple[int, int] | None = None
    bandwidth_gb_s: float | None = None
    bf16_tflops: float | None = None
    fp16_tflops: float | None = None
    fp8_tflops: float | None = None
    int8_tops: float | None = None
    fp4_tflops: float | None = None
    gfx: str | None = None
    kind: str = ""
    unified: bool = False
    memory_type: str = ""
    interconnect: str = ""
    verified: frozenset[str] = frozenset()
    source: str = ""


class Place(NamedTuple):
    """Where bytes live: ``gpu0``, ``gpu1`` … or ``host``. ``capacity_bytes`` is None where nobody said how large it is."""

    id: str
    capacity_bytes: int | None
    used_before_bytes: int = 0

    @property
    def usable_bytes(self) -> int | None:
        """What is left for the process to take."""
        return None if self.capacity_bytes is None else max(0, self.capacity_bytes - self.used_before_bytes)


class Node(NamedTuple):
    """The machine: its accelerators in order, and what other processes hold of each (nothing where that is left out).

    ``source`` is ``flag``, ``attached`` or ``budget``, None where nobody named hardware. ``notes`` say what was chosen
    where a name could mean several cards. ``isa`` is the instruction set of the processor and ``ram_bytes`` the size of its memory,
    None where nobody said it.
    """

    id: str | None
    source: str | None
    gpus: tuple[Gpu, ...]
    used_before_bytes: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    isa: str | None = None
    ram_bytes: int | None = None

    def places(self) -> tuple[Place, ...]:
        """The places of this node, the host where its size is known; without a known accelerator one ``gpu0`` of unknown size."""
        host = () if self.ram_bytes is None else (Place("host", self.ram_bytes),)
        if not self.gpus:
            return (Place("gpu0", None), *host)
        used = self.used_before_bytes or (0,) * len(self.gpus)
        return (*(Place(f"gpu{i}", gpu.cuda_bytes, used[i]) for i, gpu in enumerate(self.gpus)), *host)


ISAS = ("x86-avx2", "x86-avx512", "arm64")
"""Instruction sets that engines lay weights out for."""

UNKNOWN_NODE = Node(id=None, source=None, gpus=())


def budget_node(n_bytes: int) -> Node:
    """A node with one device of exactly ``n_bytes``, for ``--budget``."""
    label = f"budget-{n_bytes / GIB:.2f}GiB"
    gpu = Gpu(id=label, name=label, vendor="", driver_bytes=n_bytes, cuda_bytes=n_bytes)
    return Node(id=None, source="budget", gpus=(gpu,))
