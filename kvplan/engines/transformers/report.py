"""The cache as the answer shows it: groups of equal layers, bytes per token, what the mathematics keeps."""

from typing import NamedTuple

from kvplan.core.dtypes import DTYPES
from kvplan.core.ledger import KvGroup, KvPlan
from kvplan.core.mixers import Mixer
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.transformers.cache import ideal_bytes, store
from kvplan.engines.transformers.plan import Plan, as_cached


class Kept(NamedTuple):
    """What all layers keep: groups of equal ones, and every mixer with its number of layers."""

    groups: tuple[KvGroup, ...]
    mixers: tuple[tuple[int, Mixer], ...]


def kept(model: ModelSpec, plan: Plan) -> Kept:
    """The layers of ``model`` that keep a cache or a state of their own."""
    counts: dict[Mixer, int] = {}
    for run in model.runs:
        for mixer in run.layer.mixers if run.layer.kv_source is None else ():
            counts[mixer] = counts.get(mixer, 0) + run.n_layers
    return Kept(
        () if plan.settings.cache == "none" else _groups(model, plan), tuple((n_layers, mixer) for mixer, n_layers in counts.items())
    )


def kv_plan(layers: Kept, plan: Plan, load: Workload, reserved_bytes: int) -> KvPlan:
    """The cache of this workload; ``reserved_bytes`` is what the engine takes for it, states included."""
    ideal, next_ideal = (_ideal(layers, plan, n) for n in (load.ctx_tokens, load.ctx_tokens + 1))
    return KvPlan(
        k_dtype=plan.settings.kv_dtype,
        v_dtype=plan.settings.kv_dtype,
        bytes_per_token=sum(cost // rule.ratio for cost, rule in zip(plan.total, plan.rules, strict=True)),
        marginal_bytes_per_token=0 if plan.settings.cache == "none" else max(0, next_ideal - ideal),
        state_bytes_per_sequence=plan.state_bytes,
        ideal_bytes=min(reserved_bytes, load.batch * (ideal + plan.state_bytes)),
        reserved_bytes=reserved_bytes,
        groups=layers.groups,
    )


def _ideal(layers: Kept, plan: Plan, n_tokens: int) -> int:
    """Bytes that one sequence of ``n_tokens`` must keep in the cache's element type, scales of integers included."""
    if plan.settings.cache == "quantized":
        return sum(cost * rule.kept(n_tokens) for cost, rule in zip(plan.total, plan.rules, strict=True))
    elem = DTYPES[plan.settings.kv_dtype].block_bytes
    return sum([n_layers * ideal_bytes(mixer, n_tokens, elem) for n_layers, mixer in layers.mixers])


def _groups(model: ModelSpec, plan: Plan) -> tuple[KvGroup, ...]:
    """Layers that keep a cache or a state of their own, grouped by kind, window and bytes per token."""
    counts: dict[tuple[str, int | None, int], int] = {}
    for run in model.runs:
        layer = as_cached(run.layer, plan.form)
        for mixer in layer.mixers if layer.kv_source is None else ():
            slots = store(layer._replace(mixers=(mixer,)), plan.settings.kv_dtype, plan.elem_bytes, plan.behavior).slots
            cost = sum(slot.bytes // slot.rule.ratio for slot in slots)
            key = (_kind(mixer), slots[0].rule.window if slots else None, cost)
            counts[key] = counts.get(key, 0) + run.n_layers
    return tuple(KvGroup(kind, n_layers, window, cost) for (kind, window, cost), n_layers in counts.items())


def _kind(mixer: Mixer) -> str:
    """The mixer's kind as the answer names it: every mixer with a state of fixed size is ``recurrent``."""
    match mixer.kind:
        case "mamba1" | "mamba2" | "gated_delta" | "linear" | "short_conv" | "rwkv" | "rg_lru":
            return "recurrent"
        case "full" | "sliding" | "chunked" | "compressed" | "mla" | "cross":  # pragma: no branch - the kinds end here
            return mixer.kind
