"""What NVML tells of the attached GPUs, without making a CUDA context: pynvml is imported only when somebody asks."""

import os
from types import ModuleType
from typing import NamedTuple

from kvplan.core.errors import UnavailableError


class Device(NamedTuple):
    """One GPU or MIG slice that a CUDA process would see.

    ``reserved_bytes`` is what the driver keeps back of ``total_bytes`` (None from drivers before 510), ``used_bytes`` is
    held by processes; all three are None where NVML does not know (memory shared with the host).
    """

    name: str
    uuid: str
    total_bytes: int | None
    reserved_bytes: int | None
    used_bytes: int | None
    compute_capability: tuple[int, int] | None
    is_slice: bool = False


def devices() -> tuple[Device, ...]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves visible, in NVML's order; of MIG slices the first, as CUDA does.

    Raises UnavailableError with the reason when there is none: no pynvml, no driver, nothing attached or visible.
    """
    try:
        import pynvml
    except (ImportError, OSError) as problem:
        raise _none(f"pynvml can't be imported ({problem})", "pip install nvidia-ml-py") from None
    try:
        pynvml.nvmlInit()
    except (pynvml.NVMLError, OSError) as problem:
        raise _none(
            f"NVML does not start ({problem})", "is the NVIDIA driver installed? name the GPU, for example --gpu h100-sxm"
        ) from None
    try:
        found = [device for i in range(pynvml.nvmlDeviceGetCount()) for device in _at(pynvml, i)]
    except (pynvml.NVMLError, OSError) as problem:
        raise _none(f"NVML fails ({problem})", "name the GPU, for example --gpu h100-sxm") from None
    finally:
        pynvml.nvmlShutdown()
    whole = [device for device in _visible(found) if not device.is_slice]
    slices = [device for device in _visible(found) if device.is_slice]
    if not whole and not slices:
        hidden = f"CUDA_VISIBLE_DEVICES={os.environ['CUDA_VISIBLE_DEVICES']} hides all" if found else "NVML counts none"
        raise _none(hidden, "name the GPU, for example --gpu h100-sxm")
    return (*whole, *slices[:1])


def _none(reason: str, hint: str) -> UnavailableError:
    return UnavailableError("no_gpu", f"no attached GPU: {reason}", hint=hint)


def _at(pynvml: ModuleType, index: int) -> list[Device]:
    """The GPU at ``index``, or its slices when it is split."""
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    try:
        is_split = pynvml.nvmlDeviceGetMigMode(handle)[0] == pynvml.NVML_DEVICE_MIG_ENABLE
    except pynvml.NVMLError:  # a GPU that can't be split
        is_split = False
    if not is_split:
        return [_device(pynvml, handle, _capability(pynvml, handle))]
    slices = []
    for i in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            part = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, i)
        except pynvml.NVMLError:  # fewer slices than there could be
            continue
        slices.append(_device(pynvml, part, _capability(pynvml, handle))._replace(is_slice=True))
    return slices


def _device(pynvml: ModuleType, handle: object, capability: tuple[int, int] | None) -> Device:
    total, reserved, used = _memory(pynvml, handle)
    name, uuid = _text(pynvml.nvmlDeviceGetName(handle)), _text(pynvml.nvmlDeviceGetUUID(handle))
    return Device(name, uuid, total, reserved, used, capability)


def _memory(pynvml: ModuleType, handle: object) -> tuple[int | None, int | None, int | None]:
    """(total, reserved, used): version 2 tells what the driver reserves apart, version 1 counts it as used."""
    try:
        info = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
        return int(info.total), int(info.reserved), int(info.used)
    except (pynvml.NVMLError, AttributeError, TypeError):  # an old driver, an old pynvml
        pass
    try:
        info = pynvml.nvmlDeviceGetMemoryInfo(handle)
    except pynvml.NVMLError:  # memory shared with the host: Not Supported
        return None, None, None
    return int(info.total), None, int(info.used)


def _capability(pynvml: ModuleType, handle: object) -> tuple[int, int] | None:
    try:
        major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
    except pynvml.NVMLError:
        return None
    return int(major), int(minor)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _visible(found: list[Device]) -> list[Device]:
    """What CUDA_VISIBLE_DEVICES keeps, in its order: indices or the beginning of a UUID; the first bad word hides the rest."""
    said = os.environ.get("CUDA_VISIBLE_DEVICES")
    if said is None:
        return found
    kept: list[Device] = []
    for word in said.split(","):
        same = [
            device for i, device in enumerate(found) if word.strip() == str(i) or (word.strip() and device.uuid.startswith(word.strip()))
        ]
        if not same:
            break
        kept.extend(same[:1])
    return kept
