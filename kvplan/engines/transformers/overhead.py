"""What a process holds on a GPU beside its tensors: its context, and matrix workspaces."""

from typing import NamedTuple

from kvplan.core.device import Gpu
from kvplan.core.ledger import Basis, Entry, Interval
from kvplan.core.units import MIB

NVIDIA = ("NVIDIA", "")
"""Makers whose figures are NVIDIA's: its own, and of a device that is only a number of bytes."""

RUNTIMES = {"NVIDIA": "CUDA", "": "CUDA", "AMD": "ROCm", "Apple": "Metal", "Intel": "XPU"}


class Row(NamedTuple):
    """One published reading of a CUDA context; ``gpu`` and ``torch`` as said there, empty where nobody said."""

    gpu: str
    torch: str
    mib: int
    source: str


class Constant(NamedTuple):
    """An interval for a class of hardware, and the readings that it must hold."""

    size: Interval
    rows: tuple[Row, ...]

    @property
    def basis(self) -> Basis:
        """Calibrated with three independent readings of named cards or more; with fewer it is reasoned."""
        return "calibrated" if len({(row.gpu, row.source) for row in self.rows if row.gpu}) >= 3 else "modeled"


CONTEXT_ROWS = (
    Row("RTX 6000 Ada", "2.10.0+cu130", 426, "github.com/unslothai/unsloth-zoo pull 1053"),
    Row("RTX 3090", "2.7.1+cu128", 256, "github.com/invoke-ai/InvokeAI issue 9413"),
    Row("", "1.13", 274, "github.com/pytorch/pytorch pull 86509"),
)
"""The maintainers' "around 300" and "around 400 MB" (pytorch issues 107667, 109888) name no card and are no readings.
The last row is all that was taken of a card nobody named, the segment of a small tensor included."""

AMPERE_AND_ADA = Constant(Interval(256 * MIB, 426 * MIB, 600 * MIB), CONTEXT_ROWS)
OTHER_NVIDIA = Constant(Interval(256 * MIB, 500 * MIB, 1024 * MIB), ())
OTHER_VENDORS = Constant(Interval(0, 500 * MIB, 2048 * MIB), ())

LARGE_WORKSPACE, SMALL_WORKSPACE = 32 * MIB, 4096 * 1024 * 2 + 16 * 1024 * 8
LARGE_FROM = (9, 10, 12)
OTHER_WORKSPACE = Interval(0, LARGE_WORKSPACE, 128 * MIB)
"""From none to hipBLASLt's 76 MiB beside a handle's own: PyTorch CublasHandlePool.cpp, parseCUDABlasLtWorkspaceSize, not pinned."""


def workspace(gpu: Gpu) -> Entry:
    """The workspace of one cuBLAS handle, which PyTorch takes from its own allocator at the first matrix product.

    32 MiB for compute capability 9, 10 and 12, else 4096 · 1024 · 2 + 16 · 1024 · 8 bytes; a wide guess for other makers.
    Source: PyTorch 2.13 aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize; 8519680 seen on an A10G in
    pytorch/pytorch issue 95668.
    """
    if gpu.vendor not in NVIDIA:
        formula = "none to {high} MiB: what {vendor}'s libraries take is not modeled"
        source = "no published figure; hipBLASLt's 76 MiB of PyTorch's CublasHandlePool.cpp lie inside"
        return _workspace("matrix workspace", OTHER_WORKSPACE, formula, {"high": OTHER_WORKSPACE.high // MIB, "vendor": gpu.vendor}, source)
    known, best = gpu.compute_capability, workspace_bytes(gpu.compute_capability)
    large = best == LARGE_WORKSPACE
    return _workspace(
        "cuBLAS workspace",
        Interval(SMALL_WORKSPACE if known is None else best, best, best),
        "{mib} MiB · 1 handle" if large else "4096 · 1024 · 2 + 16 · 1024 · 8",
        {"mib": LARGE_WORKSPACE // MIB} if large else {},
        "PyTorch 2.13 CublasHandlePool.cpp; CUBLAS_WORKSPACE_CONFIG changes it",
    )


def workspace_bytes(capability: tuple[int, int] | None) -> int:
    """The workspace of one cuBLAS handle; the larger where nobody knows the compute capability. Source: as ``workspace``."""
    return LARGE_WORKSPACE if capability is None or capability[0] in LARGE_FROM else SMALL_WORKSPACE


def _workspace(name: str, size: Interval, formula: str, inputs: dict[str, int | str], source: str) -> Entry:
    return Entry("workspace", name, "gpu0", size, "modeled", formula, inputs, source)


def runtime_context(gpu: Gpu) -> Entry:
    """The context of the process with its kernels: outside PyTorch's own counters, inside nvidia-smi's."""
    found = _context(gpu)
    return Entry(
        term="runtime_context",
        name=f"{RUNTIMES.get(gpu.vendor, 'device')} context",
        place="gpu0",
        size=found.size,
        basis=found.basis,
        formula=_READ if found.rows else _GUESS,
        inputs={
            "n_rows": len(CONTEXT_ROWS),
            "low": min(row.mib for row in CONTEXT_ROWS),
            "top": max(row.mib for row in CONTEXT_ROWS),
            "best": found.size.best // MIB,
            "spare": (found.size.high - found.size.best) // MIB,
        },
        source="; ".join(row.source for row in CONTEXT_ROWS),
    )


def _context(gpu: Gpu) -> Constant:
    if gpu.vendor not in NVIDIA:
        return OTHER_VENDORS
    return AMPERE_AND_ADA if gpu.compute_capability is not None and gpu.compute_capability[0] == 8 else OTHER_NVIDIA


_READ = (
    "{low} to {top} MiB in {n_rows} readings before any model ran; best is the largest, "
    "{spare} MiB above it are for kernels that load later"
)
_GUESS = "nobody published one of this kind: {best} MiB, and room around the {low} to {top} MiB read on Ampere and Ada"
