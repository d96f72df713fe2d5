import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kvplan.verifier.child import driver
from tests.verifier.smi import fake_smi

MIB = 2**20


def test_the_driver_through_nvidia_smi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_smi(monkeypatch, tmp_path, processes=r"1, 300\n")
    assert driver.look("GPU-1") == driver.View(143771 * MIB, 512 * MIB, None, "580.126.09")
    monkeypatch.setattr("os.getpid", lambda: 1)
    assert driver.look("GPU-1").process_bytes == 300 * MIB
    assert driver.look("MIG-1") == driver.View()


def test_the_driver_through_pynvml(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlMemory_v2=2,
        nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceGetMemoryInfo=lambda handle, version: SimpleNamespace(total=100, used=10, reserved=5),
        nvmlDeviceGetComputeRunningProcesses=lambda handle: [SimpleNamespace(pid=7, usedGpuMemory=9)],
        nvmlSystemGetDriverVersion=lambda: b"580.1",
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.setattr("os.getpid", lambda: 7)
    assert driver.look("GPU-1") == driver.View(100, 10, 9, "580.1")
