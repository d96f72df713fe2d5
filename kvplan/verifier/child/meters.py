"""Clocks and byte counters of the device that the model runs on."""

import contextlib
import gc
import platform
from collections.abc import Iterator
from typing import Protocol

import torch

from kvplan.hardware import host
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
        n_threads = torch.get_num_threads()
        name = f"{platform.processor() or platform.machine()}, {n_threads} {'thread' if n_threads == 1 else 'threads'}"
        return Device("cpu", name, None, None, None)

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
