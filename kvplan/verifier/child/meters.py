"""Clocks and byte counters of the device that the model runs on."""

import contextlib
import gc
import platform
from collections.abc import Iterator
from typing import Protocol

import torch

from kvplan.hardware import host
from kvplan.verifier.child import driver
from kvplan.verifier.child.lifetimes import Lifetimes
from kvplan.verifier.record import Device, Snapshot


class Meter(Protocol):
    """What a pass needs to know of its device."""

    torch_device: str
    traced: bool
    """Whether nothing is really computed: no warm-up is needed, and a step can be looked at without those before it."""

    def running(self) -> "contextlib.AbstractContextManager[object]":
        """What the model is built and run in."""
        ...

    def versions(self) -> dict[str, str | None]:
        """What of the device's software has a version."""
        ...

    def device(self) -> Device:
        """The device, before anything runs on it."""
        ...

    def before(self) -> Snapshot:
        """What others hold of it, before this process makes a context."""
        ...

    def free_bytes(self) -> int | None:
        """What a model can take."""
        ...

    def settle(self) -> None:
        """Finish what is queued, give back what is cached, and begin counting peaks anew."""
        ...

    def restart(self) -> None:
        """Begin counting peaks anew and leave everything else as it is."""
        ...

    def stepped(self) -> None:
        """Between two forwards."""
        ...

    def unplaced(self) -> "contextlib.AbstractContextManager[object]":
        """What is made inside takes no part in what allocators reserve, until the end; for those that only pretend."""
        return contextlib.nullcontext()

    def kernels(self) -> str | None:
        """The attention kernels since the last restart, where somebody knows."""
        return None

    def finish(self) -> None:
        """Wait for what is queued: clocks and the driver's figures are right only then."""
        ...

    def snapshot(self) -> Snapshot:
        """Memory now, and peaks since ``settle``."""
        ...


class CpuMeter(Meter):
    """Follows the tensors, because the C allocator has no peaks to ask for: live bytes stand for what it allocated."""

    torch_device = "cpu"
    traced = False

    def __init__(self, live: Lifetimes | None = None) -> None:
        """``live`` follows storages; a new one on the CPU unless given."""
        self._live = live or Lifetimes("cpu")

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Storages are followed inside. Garbage is collected between forwards alone: tensors in it would die at random else."""
        gc.disable()
        try:
            with self.world():
                yield
        finally:
            gc.unfreeze()
            gc.enable()

    def world(self) -> "contextlib.AbstractContextManager[object]":
        """What follows the storages."""
        return self._live

    def versions(self) -> dict[str, str | None]:
        """Nothing beyond torch."""
        return {}

    def device(self) -> Device:
        """The processor, and how much of it torch uses."""
        return Device("cpu", f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads", None, None, None)

    def before(self) -> Snapshot:
        """Unknown."""
        return Snapshot()

    def free_bytes(self) -> int | None:
        """Host memory that is available."""
        ram = host.memory()
        return ram.available_bytes if ram else None

    def settle(self) -> None:
        """Drop what only the garbage collector holds; what is left will stay, and need not be looked at again."""
        gc.collect()
        gc.freeze()
        self.restart()

    def restart(self) -> None:
        """Count the peak anew."""
        self._live.restart()

    def stepped(self) -> None:
        """Collect garbage."""
        gc.collect()

    def finish(self) -> None:
        """The CPU queues nothing."""

    def snapshot(self) -> Snapshot:
        """Live bytes."""
        return Snapshot(allocated_bytes=self._live.live_bytes, peak_allocated_bytes=self._live.peak_bytes)


class CudaMeter(Meter):
    """The first visible CUDA device: torch's allocator, CUDA and the driver, each on its own."""

    torch_device = "cuda:0"
    traced = False

    def __init__(self) -> None:
        """Reads properties only: no context is made, so that ``before`` is what others hold."""
        self._properties = torch.cuda.get_device_properties(0)
        words = [f"{kind}-{self._properties.uuid}" for kind in ("GPU", "MIG")]
        views = {word: driver.look(word) for word in words}
        self._uuid = next((word for word in words if views[word].total_bytes is not None), words[0])
        self._first = views[self._uuid]

    def running(self) -> "contextlib.AbstractContextManager[object]":
        """Nothing special: torch's allocator counts by itself."""
        return contextlib.nullcontext()

    def versions(self) -> dict[str, str | None]:
        """CUDA, cuDNN and the driver."""
        cudnn = torch.backends.cudnn.version()
        return {"cuda": torch.version.cuda, "cudnn": str(cudnn) if cudnn else None, "driver": self._first.version}

    def device(self) -> Device:
        """Name and totals."""
        found = self._properties
        return Device("cuda", found.name, f"{found.major}.{found.minor}", found.total_memory, self._first.total_bytes)

    def before(self) -> Snapshot:
        """What the driver sees of other processes."""
        return Snapshot(device_used_bytes=self._first.used_bytes)

    def free_bytes(self) -> int | None:
        """What CUDA can still give; makes the context."""
        return int(torch.cuda.mem_get_info(0)[0])

    def settle(self) -> None:
        """Collect, synchronize, empty the cache, reset the peaks."""
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.restart()

    def restart(self) -> None:
        """Reset the peaks."""
        torch.cuda.reset_peak_memory_stats()

    def stepped(self) -> None:
        """Nothing: Python collects when it likes, as it does for everybody."""

    def finish(self) -> None:
        """Synchronize."""
        torch.cuda.synchronize()

    def snapshot(self) -> Snapshot:
        """All three views, after synchronizing."""
        torch.cuda.synchronize()
        view = driver.look(self._uuid)
        return Snapshot(
            allocated_bytes=torch.cuda.memory_allocated(),
            peak_allocated_bytes=torch.cuda.max_memory_allocated(),
            reserved_bytes=torch.cuda.memory_reserved(),
            peak_reserved_bytes=torch.cuda.max_memory_reserved(),
            process_bytes=view.process_bytes,
            device_used_bytes=view.used_bytes,
            free_bytes=int(torch.cuda.mem_get_info(0)[0]),
        )
