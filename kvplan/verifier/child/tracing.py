"""The meter of a run that never happens: the model's real code, on fake tensors."""

import contextlib

from kvplan.verifier.child import fake
from kvplan.verifier.child.meters import CpuMeter
from kvplan.verifier.record import Device


class TraceMeter(CpuMeter):
    """Live bytes of fake tensors, on a fake GPU where torch can pretend one, else on a fake CPU."""

    traced = True

    def __init__(self, device_type: str = "cuda", *, padded: bool = False) -> None:
        """``device_type`` is ``cuda``, a CPU where that can't be pretended, or ``cpu``; ``padded``: some of the batch is padding."""
        self._type = "cuda" if device_type == "cuda" and fake.cuda_device() else "cpu"
        self.torch_device = "cuda:0" if self._type == "cuda" else "cpu"
        self._traced = fake.Traced(self._type, padded=padded)
        super().__init__(self._traced)

    def world(self) -> "contextlib.AbstractContextManager[object]":
        """Everything inside is fake."""
        return fake.world(self._traced, device_type=self._type)

    def device(self) -> Device:
        """What is pretended."""
        if self._type == "cpu":
            return Device("trace", "a processor", None, None, None)
        capability = ".".join(map(str, fake.CAPABILITY))
        return Device("trace", f"a GPU of compute capability {capability}", capability, None, None)

    def free_bytes(self) -> int | None:
        """No limit: nothing is allocated."""
        return None
