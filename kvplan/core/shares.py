"""What a model's weights are for: parameters and bytes by role."""

from typing import NamedTuple

from kvplan.core.model import ModelSpec
from kvplan.core.roles import Role


class Share(NamedTuple):
    """What all groups of one role come to; ``n_active`` are the parameters that one token touches, ``n_bytes`` those stored."""

    role: Role
    n_params: int
    n_active: int
    n_bytes: int


def by_role(spec: ModelSpec) -> tuple[Share, ...]:
    """The weight groups by role, in the order of appearance; sums are n_params, n_active_params and ``stored_bytes``."""
    sums: dict[Role, list[int]] = {}
    for group in spec.groups():
        held = sums.setdefault(group.role, [0, 0])
        held[0] += group.n_params
        held[1] += group.n_bytes(spec.stored_dtype)
    sizes = _in_headers(spec)
    if sizes is None:
        sizes = {role: size for role, (_, size) in sums.items()}
    idle, params = spec.idle(), {role: n for role, (n, _) in sums.items()}
    found = [(role, params.get(role, 0)) for role in dict.fromkeys((*params, *sizes))]
    return tuple(Share(role, n, n - idle.get(role, 0), sizes.get(role, 0)) for role, n in found)


def stored_bytes(spec: ModelSpec) -> int:
    """Bytes of the weights as stored: of a quantized model what the headers say, where they were read; else by arithmetic."""
    sizes = _in_headers(spec)
    return spec.weight_bytes if sizes is None else sum(sizes.values())


def _in_headers(spec: ModelSpec) -> dict[Role, int] | None:
    """Bytes by role in the headers of a quantized checkpoint; None where they say no more than the config does, or were not read."""
    files = spec.checkpoint
    if files is None or files.basis != "headers" or spec.quantization is None:
        return None
    sizes: dict[Role, int] = {}
    for held in files.holdings:
        if held.part == "model":
            sizes[held.role] = sizes.get(held.role, 0) + held.n_bytes
    return sizes
