"""A GPU that is not there: torch's fake tensors have shapes, types and a device, and no memory.

What differs from a real run is put right here, for the length of a trace: Transformers must not notice that tensors are fake, the
attention must be that of the GPU's kernels, and questions to values get the answer of a batch without padding.
"""

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from transformers.utils import import_utils

from kvplan.verifier.child.attention import Attention
from kvplan.verifier.child.dispatch import Capability
from kvplan.verifier.child.lifetimes import Lifetimes, Operator

# c10's table of what switches devices, one pointer for each type of device (c10/core/DeviceType.h: CPU 0, CUDA 1).
_GUARDS = "_ZN3c104impl26device_guard_impl_registryE"
_CPU, _CUDA = 0, 1


def cuda_device() -> bool:
    """Let tensors be on a ``cuda:0`` that does not exist; whether this torch can.

    A build with CUDA can by itself. One without knows no way to switch to a CUDA device, and every copy would fail for that; the
    CPU's guard, which does nothing, is all that is needed, so it is entered in the table for CUDA too. This holds for the whole
    process, which is why traces run in one of their own.
    """
    if torch.backends.cuda.is_built():
        return True
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    try:
        guards = (ctypes.c_void_p * 2).in_dll(ctypes.CDLL(str(library)), _GUARDS)
    except (OSError, ValueError):  # no such library or symbol: another platform, or another torch
        return False
    guards[_CUDA] = guards[_CUDA] or guards[_CPU]
    return True


class Traced(Lifetimes):
    """Lifetimes of fake tensors; one answer to every question."""

    def __init__(self, device_type: str, *, padded: bool = False) -> None:
        """``padded``: some of the batch is padding."""
        super().__init__(device_type)
        self._answer = not padded

    def run(self, func: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
        """What the operator returns; of a truth value that nobody knows, whether the batch's mask is all ones: that is what is asked.

        Raises torch's DataDependentOutputException where a number is asked for.
        """
        aten = torch.ops.aten
        if func is aten._local_scalar_dense.default:
            tensor = args[0]
            if isinstance(tensor, FakeTensor) and tensor.dtype == torch.bool and tensor.constant is None:
                return self._answer
        if func is aten._safe_softmax.default and args[0].device.type == "cuda":
            with self:
                return _safe_softmax(*args, **kwargs)
        if func is aten._grouped_mm.default and args[0].dtype != torch.bfloat16:
            # The fake kernel knows bfloat16 alone; the real ones fall back to a product for each group, of the same shape.
            made = super().run(func, (args[0].bfloat16(), args[1].bfloat16(), *args[2:]), kwargs)
            assert isinstance(made, torch.Tensor)
            return torch.empty_like(made, dtype=args[0].dtype)
        return super().run(func, args, kwargs)


def _safe_softmax(scores: "torch.Tensor", dim: int, dtype: "torch.dtype | None" = None) -> "torch.Tensor":
    """In the operators that it is made of: the softmax, a truth value for each score, and the softmax with rows of none zeroed.

    Source: PyTorch 2.13 aten/src/ATen/native/transformers/attention.cpp, _safe_softmax. Fake tensors would show its result alone.
    """
    out = torch.softmax(scores, dim, dtype)
    masked = scores.eq(float("-inf"))
    return torch.where(masked.all(dim, keepdim=True), torch.zeros((), dtype=out.dtype, device=out.device), out)


def _is_not(_: object) -> bool:
    return False


def _as_it_is(tensor: "torch.Tensor", *_: object, **__: object) -> "torch.Tensor":
    return tensor


def _always(capability: Capability) -> Callable[..., Capability]:
    def answer(_: object = None) -> Capability:
        return capability

    return answer


@contextlib.contextmanager
def world(live: Traced, capability: Capability | None, attention: Attention | None) -> Iterator[None]:
    """Everything made inside is fake and followed by ``live``; with a compute capability it is a GPU, with that GPU's attention."""
    with contextlib.ExitStack() as stack:  # plain functions are put in: a mock would keep the tensors it is called with
        stack.enter_context(mock.patch.object(import_utils, "is_fake_tensor", _is_not))
        # Drawing again until no value is outside would never end where every question has one answer.
        stack.enter_context(mock.patch.object(torch.nn.init, "_no_grad_trunc_normal_", _as_it_is))
        if capability is not None:
            stack.enter_context(mock.patch.object(torch.cuda, "get_device_capability", _always(capability)))
        if attention is not None:
            stack.enter_context(mock.patch.object(torch.nn.functional, "scaled_dot_product_attention", attention))
        stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        stack.enter_context(live)
        yield
