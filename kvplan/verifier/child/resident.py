"""What the kernel says of this process's memory, beside the bytes of its tensors."""

import contextlib
from pathlib import Path

from kvplan.core.units import KIB
from kvplan.verifier.child.meters import CpuMeter
from kvplan.verifier.record import Snapshot

_PROCESS = Path("/proc/self")
_RESET_PEAK = "5"  # proc(5), clear_refs: VmHWM becomes VmRSS


class ResidentMeter(CpuMeter):
    """A meter of the processor that looks at the process, too; on systems without /proc it sees tensors alone."""

    def before(self) -> Snapshot:
        """What the process takes before there is a model."""
        return Snapshot(process_bytes=_status("VmRSS"))

    def restart(self) -> None:
        """Count peaks anew, the kernel's too where it lets us."""
        super().restart()
        with contextlib.suppress(OSError):
            (_PROCESS / "clear_refs").write_text(_RESET_PEAK)

    def snapshot(self) -> Snapshot:
        """Live bytes, and what the process takes."""
        return super().snapshot()._replace(process_bytes=_status("VmRSS"), peak_process_bytes=_status("VmHWM"))


def _status(key: str) -> int | None:
    """A line of /proc/self/status, in bytes."""
    with contextlib.suppress(OSError, ValueError):
        for line in (_PROCESS / "status").read_text(encoding="ascii", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name == key:
                return int(value.removesuffix("kB")) * KIB
    return None
