"""The GPUs that are attached to this machine, matched to the catalogue."""

from kvplan.core.device import Gpu, Node
from kvplan.core.errors import RequestError, UnavailableError
from kvplan.core.units import MIB
from kvplan.hardware import catalog, host, names, nvml

# ECC takes 1/16 of GDDR (46,068 of 49,140 MiB on an RTX A6000); anything further off is another card of that name.
_SAME_SIZE = 0.08


def attached() -> Node | None:
    """The node with every attached GPU that CUDA would see, None without one; never an error."""
    try:
        return required(None)
    except UnavailableError:
        return None


def required(n_gpus: int | None) -> Node:
    """The node of the attached GPUs, the first ``n_gpus`` of them where a number is given.

    Raises UnavailableError with the reason when there is none, RequestError when there are fewer than asked for.
    """
    found = nvml.devices()
    if n_gpus is not None and n_gpus > len(found):
        attached = ", ".join(device.name for device in found)
        raise RequestError("bad_number", f"--gpus {n_gpus}: {len(found)} attached ({attached})", hint="name the GPUs: --gpu h100-sxm:8")
    pairs = [_measured(device) for device in found[:n_gpus]]
    gpus = tuple(gpu for gpu, _ in pairs)
    return Node(id=catalog.label(gpus), source="attached", gpus=gpus, used_before_bytes=tuple(used for _, used in pairs))


def _measured(device: nvml.Device) -> tuple[Gpu, int]:
    """The GPU with its totals as measured, and the bytes that other processes hold of what CUDA can give."""
    known = _catalogued(device)
    if device.total_bytes is None or device.used_bytes is None:
        return _shared_with_host(device, known)
    if device.reserved_bytes is not None:  # CUDA's total is the driver's less what NVML calls reserved
        cuda, used = device.total_bytes - device.reserved_bytes, device.used_bytes
    else:
        kept = known.driver_bytes - known.cuda_bytes if known else catalog.RESERVED_MIB["NVIDIA"] * MIB
        cuda, used = device.total_bytes - kept, max(0, device.used_bytes - kept)
    gpu = (known or _uncatalogued(device))._replace(
        driver_bytes=device.total_bytes,
        cuda_bytes=cuda,
        cuda_total_known=device.reserved_bytes is not None,
        compute_capability=device.compute_capability,
    )
    return gpu, used


def _shared_with_host(device: nvml.Device, known: Gpu | None) -> tuple[Gpu, int]:
    """Memory that NVML does not report because the host owns it too; what the host can't give counts as used."""
    ram = host.memory()
    gpu = known or _uncatalogued(device)
    if ram is None:
        return gpu, 0
    total = gpu.cuda_bytes if known else ram.total_bytes
    return gpu._replace(driver_bytes=max(gpu.driver_bytes, total), cuda_bytes=total, unified=True), max(0, total - ram.available_bytes)


def _catalogued(device: nvml.Device) -> Gpu | None:
    """The card of that name whose size is nearest, if it is near at all; a slice is no card."""
    if device.is_slice:
        return None
    gpus = [catalog.find(gpu_id) for gpu_id in names.with_label(device.name)]
    total = device.total_bytes
    if total is None:
        return gpus[0] if len(gpus) == 1 else None
    near = [gpu for gpu in gpus if abs(gpu.driver_bytes - total) <= _SAME_SIZE * gpu.driver_bytes]
    return min(near, key=lambda gpu: abs(gpu.driver_bytes - total), default=None)


def _uncatalogued(device: nvml.Device) -> Gpu:
    gpu_id = "-".join(device.name.lower().split())
    size = device.total_bytes or 0
    return Gpu(gpu_id, device.name, "NVIDIA", size, size, cuda_total_known=False, compute_capability=device.compute_capability)
