"""Host memory at the border: what the kernel's files and system calls tell."""

import os
from pathlib import Path

import pytest

from kvplan.core.units import KIB
from kvplan.hardware import host


def fake_memory(monkeypatch: pytest.MonkeyPatch, folder: Path, *, total_bytes: int, available_bytes: int) -> None:
    """A machine with that much, not in a container."""
    path = folder / "meminfo"
    path.write_text(f"MemTotal: {total_bytes // KIB} kB\nMemFree: 1 kB\nMemAvailable: {available_bytes // KIB} kB\n")
    monkeypatch.setattr(host, "_MEMINFO", path)
    monkeypatch.setattr(host, "_CGROUP", folder)


def hide_memory(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A machine that does not tell."""
    monkeypatch.setattr(host, "_MEMINFO", folder / "nothing")
    monkeypatch.setattr(os, "sysconf", lambda name: int("no"))
