"""Tensor parallelism: one process on each GPU, each with its shard of every layer that the family's plan splits.

Source: transformers 5.24 distributed/tensor_parallel.py, distributed/mixin.py, modeling_utils.py (from_pretrained).
"""

from kvplan.core.device import Node
from kvplan.core.ledger import ZERO, Entry, Finding, Interval, KvPlan, NotModeled, Phases, Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.units import MIB
from kvplan.core.workload import Workload
from kvplan.engines.transformers import loading, notes, shards
from kvplan.engines.transformers.compiled import compiled
from kvplan.engines.transformers.deployment import Deployment, Portion
from kvplan.engines.transformers.footprint import Footprint
from kvplan.engines.transformers.passes import Device
from kvplan.engines.transformers.plan import compile_plan
from kvplan.engines.transformers.report import kept
from kvplan.engines.transformers.rules import VERSIONS, rules_for
from kvplan.engines.transformers.settings import Settings
from kvplan.engines.transformers.tp_plans import TpPlan, tp_plan
from kvplan.engines.transformers.unpooled import Unpooled
from kvplan.engines.transformers.weights import Weights

NCCL = Interval(64 * MIB, 370 * MIB, 1900 * MIB)
"""aiconfigurator plans 342 to 392 MB; beside one H100 without peers vLLM's logs show 0.5 to 1.9 GiB more with two, its own buffers
among them."""

REPLICATED = TpPlan(frozenset())


class Ranks(Unpooled):
    """Implements the seam's Deployment: equal ranks, of which the first one's lines are shown."""

    def __init__(self, model: ModelSpec, settings: Settings, node: Node) -> None:
        """One portion for each rank."""
        plan, tp = tp_plan(model.model_type), settings.tp_size
        self._computed = self._first(model, settings, node, plan or REPLICATED)
        self._parts = {f"gpu{rank}": self._part(model, settings, node, plan or REPLICATED, rank) for rank in range(tp)}
        first = self._parts["gpu0"]
        self.refusals: tuple[Refusal, ...] = (*first.refusals, *_refusals(model, settings, plan))
        self.findings: tuple[Finding, ...] = (*first.findings, *notes.idle(settings, node), *_findings(settings))
        self.not_modeled: tuple[NotModeled, ...] = first.not_modeled

    def _first(self, model: ModelSpec, settings: Settings, node: Node, plan: TpPlan) -> ModelSpec:
        """What the first rank computes; where heads do not divide, which is refused, as if each rank had all of them."""
        loaded = loading.as_loaded(model, _capability(node, 0), settings.compute_dtype)
        if "wide_mlp" in plan.pieces:  # the fused projection arrives in parts of 2I before it is one tensor, beside this rank's
            loaded = loaded._replace(form=loaded.form._replace(mlp=(*loaded.form.mlp, "4H + 5I")))
        return shards.rank_model(loaded, REPLICATED if shards.cut(loaded, plan, settings.tp_size) else plan, settings.tp_size, 0)

    def _part(self, model: ModelSpec, settings: Settings, node: Node, plan: TpPlan, rank: int) -> Deployment:
        capability, tp = _capability(node, rank), settings.tp_size
        loaded = loading.as_loaded(model, capability, settings.compute_dtype)
        passes, computed = compile_plan(self._computed, settings, rules_for(settings.version)[0]), self._computed
        if "head" in plan.pieces:  # beside the logits: this rank's part, and all parts as they arrive, before they are one tensor
            passes = passes._replace(gathered_bytes=passes.logits_bytes + passes.logits_bytes // tp)
        portion = Portion(
            place=f"gpu{rank}",
            footprint=Footprint(passes, Device(capability)),
            weights=_share(compiled(model, settings, capability)[1], shards.rank_model(loaded, plan, tp, rank), loaded, settings),
            kept=kept(computed, passes),
            layers=computed,
            beside=(_nccl(f"gpu{rank}", tp),),
        )
        one = node._replace(gpus=node.gpus[rank : rank + 1], used_before_bytes=node.used_before_bytes[rank : rank + 1])
        return Deployment(computed, settings, one, portion)

    def entries(self, load: Workload) -> tuple[Entry, ...]:
        """Those of every rank; the first one's are shown."""
        return tuple(entry._replace(listed=place == "gpu0") for place, part in self._parts.items() for entry in part.entries(load))

    def need_bytes(self, place: str, load: Workload) -> Interval:
        """Sum of the entries at ``place``."""
        return self._parts[place].need_bytes(place, load) if place in self._parts else ZERO

    def phases(self, load: Workload) -> Phases:
        """Those of the first rank, which is never smaller than the others."""
        return self._parts["gpu0"].phases(load)

    def kv(self, load: Workload) -> KvPlan:
        """That of one rank."""
        return self._parts["gpu0"].kv(load)


def _capability(node: Node, rank: int) -> tuple[int, int] | None:
    return node.gpus[rank].compute_capability if node.gpus else None


def _share(whole: Weights, part: ModelSpec, model: ModelSpec, settings: Settings) -> Weights:
    """Weights of one rank, of all that ``whole`` is."""
    mine, everything = shards.held_bytes(part, settings.dtype), max(1, shards.held_bytes(model, settings.dtype))
    low, best, high = (bound * mine // everything for bound in whole.size)
    return whole._replace(
        size=Interval(low, best, high),
        formula="{part} of {all} B: what the plan of '{family}' shards, {tp} ways, and all of the rest",
        inputs={"part": best, "all": whole.size.best, "family": model.model_type, "tp": settings.tp_size},
        source=f"{whole.source}; transformers 5.24 distributed/tensor_parallel.py, base_model_tp_plan",
    )


def _nccl(place: str, tp: int) -> Entry:
    return Entry(
        term="workspace",
        name="NCCL buffers",
        place=place,
        size=NCCL,
        basis="modeled",
        formula="what {tp} processes talk through: 64 MiB to 1.9 GiB were seen, part of it other software's",
        inputs={"tp": tp},
        source="aiconfigurator (342 to 392 MB); logs of vLLM 0.10 to 0.19 with 1 and 2 GPUs",
    )


def _refusals(model: ModelSpec, settings: Settings, plan: TpPlan | None) -> list[Refusal]:
    """A family without a plan, a device_map beside it, heads that do not divide."""
    tp, found = settings.tp_size, []
    if settings.device_map:
        found.append(Refusal("KV340", "config", "ValueError: Tensor parallelism and `device_map` are mutually exclusive."))
    if plan is None:
        text = (
            f"ValueError: `tp_size={tp}` was requested, but `{model.architecture}` has no `tp_plan`. Pass `tp_plan` in "
            "`DistributedConfig`, add `base_model_tp_plan` to the model's config, or set `tp_size=1`."
        )
        found.append(Refusal("KV341", "load", text))
    cut = shards.cut(model, plan, tp) if plan else None
    if cut:
        text = f"RuntimeError: shape '[1, 1, -1, {cut.head_dim}]' is invalid for input of size {cut.elems}"
        found.append(Refusal("KV342", "profile", text))
    return found


def _findings(settings: Settings) -> list[Finding]:
    """Plans of other versions than the one that was read."""
    if settings.version == VERSIONS[-1]:
        return []
    message = f"what tp_size shards is as in transformers {VERSIONS[-1]}; {settings.version} may split the embedding and the head otherwise"
    return [Finding("KV345", "note", message, f"take --engine transformers@{VERSIONS[-1]}")]
