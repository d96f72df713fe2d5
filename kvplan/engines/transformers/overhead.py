"""What a process holds on a GPU beside its tensors: CUDA context, cuBLAS workspace, and what the allocator can't hand out."""

from typing import NamedTuple

from kvplan.core.device import Gpu
from kvplan.core.ledger import Basis, Entry, Interval
from kvplan.core.units import MIB


class Row(NamedTuple):
    """One published measurement of a CUDA context, in MiB."""

    gpu: str
    torch: str
    low_mib: int
    high_mib: int
    source: str


CONTEXT_ROWS = (
    Row("RTX 6000 Ada", "2.10+cu130", 426, 426, "github.com/unslothai/unsloth-zoo issue 1053"),
    Row("RTX 3090", "2.7.1+cu128", 256, 256, "github.com/invoke-ai/InvokeAI issue 9413"),
    Row("not said", "not said, lazy loading", 300, 400, "github.com/pytorch/pytorch issue 107667"),
    Row("not said", "not said, lazy loading", 300, 400, "github.com/pytorch/pytorch issue 109888"),
)
AMPERE_AND_ADA = Interval(256 * MIB, 426 * MIB, 600 * MIB)
"""Covers CONTEXT_ROWS; the upper bound allows for kernels that load later."""

ELSEWHERE = Interval(256 * MIB, 500 * MIB, 1024 * MIB)
"""Nobody published a context of another generation or vendor."""

LARGE_WORKSPACE, SMALL_WORKSPACE = 32 * MIB, 4096 * 1024 * 2 + 16 * 1024 * 8
LARGE_FROM = (9, 10, 12)


def workspace(gpu: Gpu) -> Entry:
    """The workspace of one cuBLAS handle, which PyTorch takes from its own allocator at the first matrix product.

    32 MiB for compute capability 9, 10 and 12, else 4096 · 1024 · 2 + 16 · 1024 · 8 bytes.
    Source: PyTorch 2.13 aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize; 8519680 seen on an A10G in
    pytorch/pytorch issue 95668.
    """
    known = gpu.compute_capability
    large = known is None or known[0] in LARGE_FROM
    best = LARGE_WORKSPACE if large else SMALL_WORKSPACE
    return Entry(
        term="workspace",
        name="cuBLAS workspace",
        place="gpu0",
        size=Interval(SMALL_WORKSPACE if known is None else best, best, best),
        basis="modeled",
        formula="{mib} MiB · 1 handle" if large else "4096 · 1024 · 2 + 16 · 1024 · 8",
        inputs={"mib": LARGE_WORKSPACE // MIB} if large else {},
        source="PyTorch 2.13 CublasHandlePool.cpp; CUBLAS_WORKSPACE_CONFIG changes it",
    )


def runtime_context(gpu: Gpu) -> Entry:
    """The CUDA context with its kernels: outside PyTorch's own counters, inside nvidia-smi's."""
    measured = gpu.compute_capability is not None and gpu.compute_capability[0] == 8
    basis: Basis = "calibrated" if measured else "modeled"
    return Entry(
        term="runtime_context",
        name="CUDA context",
        place="gpu0",
        size=AMPERE_AND_ADA if measured else ELSEWHERE,
        basis=basis,
        formula="{n_rows} published measurements: {low} to {high} MiB; it grows as kernels load",
        inputs={
            "n_rows": len(CONTEXT_ROWS),
            "low": min(row.low_mib for row in CONTEXT_ROWS),
            "high": max(row.high_mib for row in CONTEXT_ROWS),
        },
        source="; ".join(row.source for row in CONTEXT_ROWS),
    )


def allocator(transient_bytes: int) -> Entry:
    """What PyTorch's caching allocator reserves and can't hand out, of ``transient_bytes`` of cache and activations.

    Segments are 2 or 20 MiB or rounded to 2 MiB, and blocks of different segments never merge: a cache that grows by a
    token no longer fits where it was. Replaying traces of ten runs through a model of the allocator left 15 to 27 %
    of the transient bytes unusable, 3 to 11 % with expandable segments, and up to 128 MiB in small runs. Under pressure it
    returns unused segments, so the lower bound is none.
    Source: PyTorch 2.13 c10/cuda/CUDACachingAllocator.cpp.
    """
    return Entry(
        term="allocator",
        name="allocator",
        place="gpu0",
        size=allocator_size(transient_bytes),
        basis="modeled",
        formula="{transient} B · 1/8 (0 to 27/100 + {segments} MiB)",
        inputs={"transient": transient_bytes, "segments": SEGMENTS_MIB},
        source="PyTorch 2.13 CUDACachingAllocator.cpp; replayed traces",
    )


SEGMENTS_MIB = 128


def allocator_size(transient_bytes: int) -> Interval:
    """The interval of ``allocator``."""
    return Interval(0, transient_bytes // 8, transient_bytes * 27 // 100 + SEGMENTS_MIB * MIB)
