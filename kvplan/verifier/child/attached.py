"""The GPU that is attached: torch's allocator, CUDA and the driver, each on its own."""

import contextlib
import gc

import torch

from kvplan.verifier.child import driver
from kvplan.verifier.child.meters import Meter
from kvplan.verifier.record import Device, Snapshot


class CudaMeter(Meter):
    """Of the first visible CUDA device."""

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
