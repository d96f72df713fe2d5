"""Live bytes, followed from operator to operator: each storage from the one that makes it until nothing refers to it any more.

What an operator takes and gives back within itself is not seen, nor what an allocator adds by rounding.
"""

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

Operator = Callable[..., object]


class Lifetimes(TorchDispatchMode):  # type: ignore[misc]  # torch is not installed where types are checked
    """Counts the storages on devices of one type that are made while this mode is entered, real or fake."""

    def __init__(self, device_type: str) -> None:
        """``device_type`` is torch's: ``cpu`` or ``cuda``."""
        super().__init__()
        self.live_bytes = 0
        self.peak_bytes = 0
        self._device_type = device_type
        self._held: dict[int, tuple[object, int]] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Not to be wrapped in what hides it from torch.compile, which nobody calls here: the wrapper costs time at each operator."""
        return False

    def restart(self) -> None:
        """Count the peak from now on."""
        self.peak_bytes = self.live_bytes

    def __torch_dispatch__(
        self, func: Operator, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> object:
        """Run the operator and follow what it returns."""
        found = self.run(func, args, kwargs or {})
        if isinstance(found, torch.Tensor):
            self._follow(found)
        elif isinstance(found, tuple | list):
            for item in found:
                if isinstance(item, torch.Tensor):
                    self._follow(item)
        return found

    def run(self, func: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
        """What the operator returns."""
        return func(*args, **kwargs)

    def made(self, key: int, n_bytes: int) -> None:
        """A storage was made: for those who want to know more than live bytes."""

    def died(self, key: int) -> None:
        """A storage is gone."""

    def _follow(self, tensor: "torch.Tensor") -> None:
        """Count the tensor's storage from now until it dies. Python's object for a storage lives as long as the storage itself."""
        if tensor.device.type != self._device_type:
            return
        storage = tensor.untyped_storage()
        key = storage._cdata  # the address of the storage, which fake ones have too
        if key in self._held:
            return
        n_bytes = storage.nbytes()
        self._held[key] = weakref.ref(storage, partial(self._drop, key)), n_bytes
        self.live_bytes += n_bytes
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        self.made(key, n_bytes)

    def _drop(self, key: int, _: object) -> None:
        self.live_bytes -= self._held.pop(key)[1]
        self.died(key)
