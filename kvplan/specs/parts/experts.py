"""Mixtures of experts as weight groups: a router, the routed experts, and the experts that every token visits."""

from typing import Literal, NamedTuple

from kvplan.core.model import DenseFfn, MoeFfn, WeightGroup
from kvplan.specs.parts.blocks import Groups, as_role, copies, gated_mlp, linear, plain_mlp


class MoeStyle(NamedTuple):
    """How a family's mixture differs from Mixtral's, as its modeling code builds it.

    ``router_dtype`` is the type that the modeling code keeps the router in, however it is stored; ``correction_dtype`` is how
    the correction is stored and kept.
    ``correction``: a learned shift of the routing scores per expert, counted as a ``parameter`` or kept as a ``buffer``.
    ``shared_gate`` is one more output per token that scales the shared experts (Qwen2-MoE). ``mlp_bias`` puts biases on dense
    and shared feed-forwards, ``expert_bias`` on the routed ones.
    """

    name: str = "mlp"
    router: str = "gate"
    router_bias: bool = False
    router_dtype: str | None = None
    correction: Literal["parameter", "buffer"] | None = None
    correction_dtype: str | None = None
    expert_bias: bool = False
    mlp_bias: bool = False
    shared: str = "shared_experts"
    shared_gate: bool = False


def moe(hidden: int, ffn: MoeFfn, style: MoeStyle) -> Groups:
    """Weights of a mixture: router (n_experts × hidden), n_experts feed-forwards, one shared feed-forward where ``ffn`` has it."""
    mlp = gated_mlp if ffn.gated else plain_mlp
    experts = mlp(hidden, ffn.intermediate, name=f"{style.name}.experts", role="expert", bias=style.expert_bias)
    shared = (
        mlp(hidden, ffn.shared_intermediate, name=f"{style.name}.{style.shared}", role="shared_expert", bias=style.mlp_bias)
        if ffn.shared_intermediate
        else ()
    )
    gate = linear(f"{style.name}.shared_expert_gate", 1, hidden, role="shared_expert") if style.shared_gate else ()
    return (*router(hidden, ffn.n_experts, style), *copies(experts, ffn.n_experts), *shared, *gate)


def router(hidden: int, n_experts: int, style: MoeStyle) -> Groups:
    """The projection to routing scores and their correction; a ``buffer`` takes memory and is no parameter."""
    name = f"{style.name}.{style.router}"
    weights = linear(name, n_experts, hidden, role="router", bias=style.router_bias)
    kept = tuple(group._replace(run_dtype=style.router_dtype) for group in weights)
    if style.correction is None:
        return kept
    correction = WeightGroup(f"{name}.e_score_correction_bias", "router", n_experts, dtype=style.correction_dtype)
    return (*kept, *(as_role((correction,), "scale") if style.correction == "buffer" else (correction,)))


def dense_or_moe(hidden: int, ffn: DenseFfn | MoeFfn, style: MoeStyle) -> Groups:
    """Weights of a feed-forward block of either kind."""
    if ffn.kind == "moe":
        return moe(hidden, ffn, style)
    mlp = gated_mlp if ffn.gated else plain_mlp
    return mlp(hidden, ffn.intermediate, name=style.name, bias=style.mlp_bias)
