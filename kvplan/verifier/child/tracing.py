"""The meter of a run that never happens: the model's real code, on fake tensors."""

import contextlib

from kvplan.engines.transformers.overhead import workspace_bytes
from kvplan.verifier.child import fake
from kvplan.verifier.child.attention import Attention
from kvplan.verifier.child.dispatch import ASSUMED, Capability
from kvplan.verifier.child.meters import CpuMeter
from kvplan.verifier.child.simulated import Simulated
from kvplan.verifier.record import Device, Job, Snapshot


class TraceMeter(CpuMeter):
    """Live bytes of fake tensors and what allocators would reserve for them, on a fake GPU where torch can pretend one; else live
    bytes on a fake CPU."""

    traced = True

    def __init__(
        self, device_type: str = "cuda", *, capability: Capability | None = None, name: str | None = None, padded: bool = False
    ) -> None:
        """``device_type`` is ``cuda``, a CPU where that can't be pretended, or ``cpu``; ``capability`` and ``name`` are those of the
        GPU, ``ASSUMED`` where nobody knows; ``padded``: some of the batch is padding."""
        on_gpu = device_type == "cuda" and fake.cuda_device()
        self.torch_device = "cuda:0" if on_gpu else "cpu"
        self._capability = (capability or ASSUMED) if on_gpu else None
        self._name = name
        self._attention = Attention(self._capability) if self._capability else None
        self._simulated = Simulated(padded=padded) if on_gpu else None
        self._traced = self._simulated or fake.Traced("cpu", padded=padded)
        super().__init__(self._traced)

    def world(self) -> "contextlib.AbstractContextManager[object]":
        """Everything inside is fake."""
        return fake.world(self._traced, self._capability, self._attention)

    def device(self) -> Device:
        """What is pretended."""
        if self._capability is None:
            return Device("trace", "a processor", None, None, None)
        capability = ".".join(map(str, self._capability))
        return Device("trace", self._name or f"a GPU of compute capability {capability}", capability, None, None)

    def before(self) -> Snapshot:
        """Nobody else is there."""
        return Snapshot()

    def free_bytes(self) -> int | None:
        """No limit: nothing is allocated."""
        return None

    def settle(self) -> None:
        """Take the workspace of the first matrix product, as a warm-up would, and give back what building left."""
        if self._simulated and self._capability:
            self._simulated.take(workspace_bytes(self._capability))
            self._simulated.empty_cache()
        super().settle()

    def restart(self) -> None:
        """Count the peak anew, and kernels."""
        super().restart()
        if self._attention:
            self._attention.used.clear()

    def unplaced(self) -> "contextlib.AbstractContextManager[object]":
        """Make tensors that no allocator sees."""
        return self._simulated.unplaced() if self._simulated else contextlib.nullcontext()

    def kernels(self) -> str | None:
        """The attention kernels since the last restart, the one that ran most often first."""
        if not self._attention:
            return None
        used = sorted(self._attention.used.items(), key=lambda item: -item[1])
        return ", ".join(kernel for kernel, _ in used) or None

    def snapshot(self) -> Snapshot:
        """Live bytes, and what allocators would have reserved."""
        live = Snapshot(allocated_bytes=self._traced.live_bytes, peak_allocated_bytes=self._traced.peak_bytes)
        if self._simulated is None:
            return live
        native, expandable = self._simulated.native, self._simulated.expandable
        return live._replace(
            reserved_bytes=native.reserved_bytes,
            peak_reserved_bytes=native.peak_reserved_bytes,
            peak_expandable_bytes=expandable.peak_reserved_bytes,
        )


def of(job: Job) -> TraceMeter:
    """The meter of a trace on the GPU that the job names."""
    major, _, minor = (job.capability or "").partition(".")
    return TraceMeter(capability=(int(major), int(minor)) if major else None, name=job.gpu, padded=job.padded)
