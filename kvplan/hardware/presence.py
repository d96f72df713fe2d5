"""Whether it is worth asking NVML at all: importing its bindings takes as long as a whole estimate."""

import os
import sys

# The device files that NVIDIA's driver makes: on Linux, on Tegra, under the Windows subsystem for Linux.
_DRIVER_FILES = ("/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/dxg")


def driver() -> bool:
    """Whether a driver of NVIDIA could be loaded here; where no device file tells, NVML has to."""
    return not sys.platform.startswith("linux") or any(os.path.exists(path) for path in _DRIVER_FILES)
