"""What ``--version`` tells: kvplan, Python, and whether torch, pynvml and a GPU are visible."""

import sys
from importlib.metadata import PackageNotFoundError, version

from kvplan import __version__


def about() -> str:
    """One line a fact; nothing heavy is imported to find out."""
    from kvplan.hardware import probe

    node = probe.attached()
    gpus = ", ".join(gpu.name for gpu in node.gpus) if node else "none attached"
    return "\n".join(
        (
            f"kvplan {__version__}",
            f"python {sys.version.split()[0]}",
            f"torch {_installed('torch')}",
            f"pynvml {_installed('nvidia-ml-py')}",
            f"gpu {gpus}",
        )
    )


def _installed(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"
