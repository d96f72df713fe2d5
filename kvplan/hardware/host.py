"""Host memory, as far as the operating system tells it."""

import os
from pathlib import Path
from typing import NamedTuple

from kvplan.core.units import KIB

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


class HostMemory(NamedTuple):
    """What the machine, or the container, has, and what of it a new process can take."""

    total_bytes: int
    available_bytes: int


def memory() -> HostMemory | None:
    """The host's memory; a container's limit counts where it is smaller. None where the system does not tell."""
    found = _meminfo() or _sysconf()
    if found is None:
        return None
    limit, used = _cgroup("memory.max"), _cgroup("memory.current")
    if limit is None or limit >= found.total_bytes:
        return found
    return HostMemory(limit, min(found.available_bytes, max(0, limit - (used or 0))))


def _meminfo() -> HostMemory | None:
    """MemTotal and MemAvailable of Linux, which counts the page cache as available."""
    try:
        fields = dict(line.split(":", 1) for line in _MEMINFO.read_text(encoding="ascii").splitlines() if ":" in line)
        total, available = (int(fields[name].split()[0]) * KIB for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError, IndexError):
        return None
    return HostMemory(total, available)


def _sysconf() -> HostMemory | None:
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        return HostMemory(os.sysconf("SC_PHYS_PAGES") * page, os.sysconf("SC_AVPHYS_PAGES") * page)
    except (ValueError, OSError, AttributeError):
        return None


def _cgroup(name: str) -> int | None:
    """A figure of control groups v2; None where there is none, or no limit (``max``)."""
    try:
        return int((_CGROUP / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
