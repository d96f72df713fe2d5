"""What a model's weights are for: parameters and bytes by role."""

from typing import NamedTuple

from kvplan.core.model import ModelSpec
from kvplan.core.roles import Role


class Share(NamedTuple):
    """What all groups of one role come to; ``n_active`` are the parameters that one token touches."""

    role: Role
    n_params: int
    n_active: int
    n_bytes: int


def by_role(spec: ModelSpec) -> tuple[Share, ...]:
    """The weight groups by role, in the order of appearance; sums are n_params, n_active_params and weight_bytes."""
    sums: dict[Role, list[int]] = {}
    for group in spec.groups():
        held = sums.setdefault(group.role, [0, 0])
        held[0] += group.n_params
        held[1] += group.n_bytes(spec.stored_dtype)
    idle = spec.idle()
    return tuple(Share(role, n, n - idle.get(role, 0), size) for role, (n, size) in sums.items())
