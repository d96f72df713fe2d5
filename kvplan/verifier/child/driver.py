"""What the NVIDIA driver says of one GPU: through pynvml, or else through nvidia-smi."""

import contextlib
import os
import subprocess
from collections.abc import Callable
from typing import NamedTuple

from kvplan.core.units import MIB


class View(NamedTuple):
    """Bytes by the driver; what it keeps for itself is not in ``used_bytes``. None where it does not tell."""

    total_bytes: int | None = None
    used_bytes: int | None = None
    process_bytes: int | None = None
    version: str | None = None


def look(uuid: str) -> View:
    """The view of the GPU or MIG slice with that UUID. No CUDA context is made."""
    for ask in (_pynvml, _nvidia_smi):
        view = _quiet(ask, uuid)
        if view is not None:
            return view
    return View()


def _quiet(ask: Callable[[str], View], uuid: str) -> View | None:
    """The answer, or None: these are extras, and each of a dozen ways to fail means that there is no answer."""
    with contextlib.suppress(Exception):
        return ask(uuid)
    return None


def _pynvml(uuid: str) -> View:
    import pynvml

    pynvml.nvmlInit()
    try:
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        memory = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
        held = {process.pid: process.usedGpuMemory for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)}
        version = pynvml.nvmlSystemGetDriverVersion()
        return View(memory.total, memory.used, held.get(os.getpid()), version if isinstance(version, str) else version.decode())
    finally:
        pynvml.nvmlShutdown()


def _nvidia_smi(uuid: str) -> View:
    total, used, version = _query(uuid, "--query-gpu=memory.total,memory.used,driver_version")[0]
    held = {int(pid): int(mib) for pid, mib in _query(uuid, "--query-compute-apps=pid,used_memory")}
    process = held.get(os.getpid())
    return View(int(total) * MIB, int(used) * MIB, None if process is None else process * MIB, version)


def _query(uuid: str, fields: str) -> list[list[str]]:
    command = ["nvidia-smi", f"--id={uuid}", fields, "--format=csv,noheader,nounits"]
    text = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    return [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
