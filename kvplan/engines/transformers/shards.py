"""Tensors as one rank of tensor parallelism has them, and the layers that it computes.

Source: transformers 5.24 distributed/tensor_parallel.py; torch.distributed.tensor splits a dimension into equal chunks, of which the
last may be shorter or empty.
"""

from typing import NamedTuple

from kvplan.core.mixers import Mixer
from kvplan.core.model import Ffn, Layer, ModelSpec, WeightGroup
from kvplan.core.units import ceil_div
from kvplan.engines.transformers.tp_plans import Side, TpPlan

_HEADS = ("q_proj", "k_proj", "v_proj")
_LATENT = ("q_proj", "q_b_proj", "kv_b_proj")


def side(group: WeightGroup, plan: TpPlan) -> Side | None:
    """What of a weight is split: outputs (column), inputs (row), nothing."""
    name = group.name.removesuffix(".weight").removesuffix(".bias").rpartition(".")[2]
    found = dict(plan.others).get(name) if group.role in ("attention", "mixer", "other") else None
    match group.role:
        case "embedding" if name == "embed_tokens":
            found = "column" if "embedding" in plan.pieces else None
        case "lm_head":
            found = "column" if "head" in plan.pieces else None
        case "attention" if found is None:
            found = _attention(name, plan)
        case "mlp" if plan.pieces & {"mlp", "wide_mlp"}:
            found = _of_three(name)
        case "shared_expert" if "shared" in plan.pieces:
            found = _of_three(name)
        case "expert" if "experts" in plan.pieces and not group.name.endswith(".bias"):
            found = _of_three(name)
        case _:
            pass
    return None if found == "row" and group.name.endswith(".bias") else found


def _attention(name: str, plan: TpPlan) -> Side | None:
    if "latent" in plan.pieces:
        return "column" if name in _LATENT else "row" if name == "o_proj" else None
    if plan.pieces & {"attention", "gathered"}:
        return "column" if name in _HEADS else "row" if name == "o_proj" else None
    return None


def _of_three(name: str) -> Side | None:
    return {"gate_proj": "column", "up_proj": "column", "down_proj": "row"}.get(name)  # type: ignore[return-value]


def chunk(size: int, tp: int, rank: int) -> int:
    """How much of ``size`` one rank gets."""
    each = ceil_div(size, tp)
    return max(0, min(each, size - each * rank))


def of_rank(group: WeightGroup, plan: TpPlan, tp: int, rank: int) -> WeightGroup:
    """The weight group as one rank has it."""
    match side(group, plan):
        case "column":
            return group._replace(rows=chunk(group.rows, tp, rank))
        case "row":
            return group._replace(cols=chunk(group.cols, tp, rank))
        case None:  # pragma: no branch - the sides end here
            return group


def rank_model(model: ModelSpec, plan: TpPlan, tp: int, rank: int) -> ModelSpec:
    """The model as one rank holds and computes it."""
    made = {id(run.layer): _sharded(run.layer, plan, tp, rank) for run in model.runs}
    return model._replace(
        runs=tuple(run._replace(layer=made[id(run.layer)]) for run in model.runs),
        weights=tuple(of_rank(group, plan, tp, rank) for group in model.weights),
    )


def held_bytes(model: ModelSpec, dtype: str) -> int:
    """Bytes of all weights once loaded, by arithmetic."""
    return sum(group.run_bytes(dtype) for group in model.groups() if group.rows and group.cols)


class Cut(NamedTuple):
    """A projection of which a rank gets ``elems`` outputs for each token: no whole number of heads of ``head_dim``."""

    elems: int
    head_dim: int


def cut(model: ModelSpec, plan: TpPlan, tp: int) -> Cut | None:
    """The first projection whose heads do not divide by the number of ranks, where heads are split."""
    if not plan.pieces & {"attention", "latent"}:
        return None
    for mixer in (mixer for run in model.runs for mixer in run.layer.mixers):
        for heads, head_dim in _heads(mixer, plan):
            if heads % tp:
                return Cut(chunk(heads * head_dim, tp, 0), head_dim)
    return None


def _heads(mixer: Mixer, plan: TpPlan) -> tuple[tuple[int, int], ...]:
    match mixer.kind:
        case "full" | "sliding" | "chunked" if "attention" in plan.pieces:
            return (mixer.n_heads, mixer.head_dim), (mixer.n_kv_heads, mixer.head_dim)
        case "mla" if "latent" in plan.pieces:
            return ((mixer.n_heads, mixer.nope_head_dim + mixer.rope_head_dim),)
        case _:
            return ()


def _sharded(layer: Layer, plan: TpPlan, tp: int, rank: int) -> Layer:
    """Its heads, its part of the feed-forward's width."""
    return layer._replace(
        mixers=tuple(_mixer(mixer, plan, tp) for mixer in layer.mixers),
        ffns=tuple(_ffn(ffn, plan, tp) for ffn in layer.ffns),
        weights=tuple(of_rank(group, plan, tp, rank) for group in layer.weights),
    )


def _mixer(mixer: Mixer, plan: TpPlan, tp: int) -> Mixer:
    match mixer.kind:
        case "full" | "sliding" | "chunked" if "attention" in plan.pieces:
            return mixer._replace(n_heads=mixer.n_heads // tp, n_kv_heads=mixer.n_kv_heads // tp)
        case "mla" if "latent" in plan.pieces:
            return mixer._replace(n_heads=mixer.n_heads // tp)
        case _:
            return mixer


def _ffn(ffn: Ffn, plan: TpPlan, tp: int) -> Ffn:
    if ffn.kind == "dense":
        return ffn._replace(intermediate=ceil_div(ffn.intermediate, tp)) if "mlp" in plan.pieces else ffn
    expert = ceil_div(ffn.intermediate, tp) if "experts" in plan.pieces else ffn.intermediate
    shared = ceil_div(ffn.shared_intermediate, tp) if "shared" in plan.pieces else ffn.shared_intermediate
    return ffn._replace(intermediate=expert, shared_intermediate=shared)
