"""The GPUs that are attached to this machine."""

from kvplan.core.device import Node


def attached() -> Node | None:
    """The node with every attached GPU, None without one."""
    return None
