"""A driver at the border."""

import stat
import sys
from pathlib import Path

import pytest


def fake_smi(monkeypatch: pytest.MonkeyPatch, folder: Path, *, processes: str = "") -> None:
    """nvidia-smi 580 with --format=csv,noheader,nounits for one GPU; no pynvml."""
    script = folder / "nvidia-smi"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *MIG-*) exit 6;; *compute-apps*) printf "{processes}";; *) echo "143771, 512, 580.126.09";; esac\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    monkeypatch.setitem(sys.modules, "pynvml", None)
