"""What a run does not show, and what it took for granted."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvplan.core.ledger import NotModeled
from kvplan.core.units import format_size
from kvplan.verifier.observed import phases
from kvplan.verifier.reconcile import left_apart
from kvplan.verifier.record import Record

if TYPE_CHECKING:
    from kvplan.verifier.verification import Verification

SCRATCH = NotModeled("kernel_scratch", "scratch within kernels: sorting of routed tokens, grouped products, keys that decoding splits")
CUDNN = NotModeled("cudnn_workspace", "the workspace of cuDNN's attention at each call: nobody published its size")
GRAPHS = NotModeled("cuda_graphs", "CUDA graphs and compiled code")
CONTEXT = NotModeled("runtime_context", "the context of the process on a GPU; `kvplan estimate --gpu` counts it")
FRAGMENTS = NotModeled("allocator_history", "what a process allocated before: reserved bytes are those of a fresh one that does this alone")
GPU = NotModeled("gpu", "what a GPU's kernels and allocator take")

TAKEN_BACK = "KV025"
"""The finding of an estimate in a type that quantized weights are taken back to."""

_KERNELS = {"cudnn": "cuDNN", "flash": "flash", "efficient": "memory-efficient", "math": "plain products"}


def not_seen(record: Record) -> tuple[NotModeled, ...]:
    """Memory that exists in such a run and is in no term."""
    if record.device.kind == "cuda":
        return ()
    if record.device.kind == "cpu":
        return (GPU, GRAPHS)
    on_cudnn = any("cudnn" in (phase.kernels or "") for _, phase in phases(record))
    return (SCRATCH, *((CUDNN,) if on_cudnn else ()), CONTEXT, GRAPHS, FRAGMENTS)


def notes(found: "Verification") -> tuple[str, ...]:
    """What was assumed, and which of it the user can say."""
    return (*_estimated(found), *_traced(found.record))


def _estimated(found: "Verification") -> Iterator[str]:
    if found.estimate is None:
        yield "kvplan does not know this architecture: these are the bytes of Transformers' own code, with nothing to compare"
        return
    if any(finding.rule == TAKEN_BACK for finding in found.estimate.findings):
        yield f"the weights are stored quantized: run, and estimated, in {found.record.job.dtype}, which has the same shapes and no scales"
    if apart := left_apart(found.estimate):
        yield f"the run is of text alone: {format_size(apart)} that the estimate counts for keys and values of images are left apart"


def _traced(record: Record) -> Iterator[str]:
    capability = record.device.compute_capability
    if record.device.kind != "trace" or capability is None:
        return
    if record.job.capability is None:
        yield f"no GPU of NVIDIA was named: kernels and workspace are those of compute capability {capability}"
    used = [f"{name} {_named(phase.kernels)}" for name, phase in phases(record) if phase.kernels]
    if used:
        yield f"attention: {' · '.join(used)}"


def _named(kernels: str) -> str:
    return ", ".join(_KERNELS[kernel] for kernel in kernels.split(", "))
