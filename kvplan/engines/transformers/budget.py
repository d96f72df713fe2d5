"""How much ``device_map`` may put on each device: max_memory, or what is free when the model is loaded.

Source: transformers 5.24 integrations/accelerate.py (get_max_memory) and quantizers/*.py (adjust_max_memory); accelerate 1.15
utils/modeling.py (get_max_memory).
"""

import re

from kvplan.core.device import Gpu, Node
from kvplan.core.errors import RequestError
from kvplan.core.units import parse_size
from kvplan.engines.transformers import overhead
from kvplan.engines.transformers.placing import DISK, HOST, Budget, Device
from kvplan.engines.transformers.settings import Settings

_NOTHING = r"0+([KMGT]i?)?B"  # keeps a device free of weights

UNLIMITED = 2**62
"""A host of which nobody said how large it is."""

PROBED = 512
"""The tensor that makes the context of each GPU before its free memory is read."""


def read(text: str, n_gpus: int | None = None) -> dict[Device, int]:
    """``0:20GiB,1:10GiB,cpu:64GiB`` as bytes by device. Raises RequestError for a device or a size that is none."""
    found: dict[Device, int] = {}
    for word in text.split(",") if text else ():
        name, colon, size = word.strip().partition(":")
        if not colon or not (name.isdecimal() or name in (HOST, DISK)):
            hint = "write it as 0:20GiB,1:10GiB,cpu:64GiB"
            raise RequestError("bad_setting", f"max_memory: expected DEVICE:SIZE, found '{word}'", hint=hint)
        device: Device = int(name) if name.isdecimal() else name
        if n_gpus is not None and isinstance(device, int) and device >= n_gpus:
            count = f"there {'is' if n_gpus == 1 else 'are'} {n_gpus}"
            raise RequestError("bad_setting", f"max_memory names GPU {device}, and {count}", hint="GPUs are counted from 0")
        if device in found:
            raise RequestError("contradiction", f"max_memory names {name} twice", hint="give one of them")
        found[device] = 0 if re.fullmatch(_NOTHING, size) else parse_size(size, option="max_memory")
    return found


def budget(settings: Settings, node: Node) -> Budget:
    """What was said, in the order in which devices are filled; else what is free on each GPU and nine tenths of the host.

    A GPU that shares the host's memory has no host beside it.
    """
    said = read(settings.max_memory, len(node.gpus))
    if said:
        gpus_first: list[Device] = [*sorted(device for device in said if isinstance(device, int))]
        order = [*gpus_first, *(name for name in (HOST, DISK) if name in said)]
        return Budget(tuple((device, said[device]) for device in order), said=True)
    used = node.used_before_bytes or (0,) * len(node.gpus)
    gpus: list[tuple[Device, int]] = [(i, _free(gpu, used[i])) for i, gpu in enumerate(node.gpus)]
    if any(gpu.unified for gpu in node.gpus):
        return Budget(tuple(gpus), said=False)
    host = UNLIMITED if node.ram_bytes is None else node.ram_bytes * 9 // 10
    return Budget((*gpus, (HOST, host)), said=False)


def _free(gpu: Gpu, used: int) -> int:
    return max(0, gpu.cuda_bytes - used - overhead.runtime_context(gpu).size.best - PROBED)
