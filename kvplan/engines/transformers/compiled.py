"""What a model with its settings is on every GPU of one generation, made once: a search tries many of them."""

from functools import lru_cache

from kvplan.core.ledger import Finding
from kvplan.core.model import ModelSpec
from kvplan.engines.transformers import loading, scores, weights
from kvplan.engines.transformers.footprint import Footprint
from kvplan.engines.transformers.passes import Device
from kvplan.engines.transformers.plan import compile_plan
from kvplan.engines.transformers.report import Kept, kept
from kvplan.engines.transformers.reserved import Reserved
from kvplan.engines.transformers.rules import rules_for
from kvplan.engines.transformers.settings import Settings


class Same:
    """A model as a key: equal only to itself, so that no search for it compares layers."""

    def __init__(self, model: ModelSpec) -> None:
        """``model`` is kept, which keeps its id taken."""
        self.model = model

    def __hash__(self) -> int:
        """By identity."""
        return id(self.model)

    def __eq__(self, other: object) -> bool:
        """The same object inside."""
        return isinstance(other, Same) and other.model is self.model


@lru_cache(maxsize=64)
def compiled(
    same: Same, settings: Settings, capability: tuple[int, int] | None
) -> tuple[Footprint, weights.Weights, Kept, tuple[Finding, ...]]:
    """The passes, the weights, the layers that keep something, and what to say of it."""
    rules, _ = rules_for(settings.version)
    model = loading.as_loaded(same.model, capability, settings.compute_dtype)
    plan = compile_plan(model, settings, rules)
    at_rest = weights.weights(model, settings, keeps_router=rules.keeps_router)
    device = Device(capability)
    return Footprint(plan, device), at_rest, kept(model, plan), scores.all_in_memory(plan, device)


@lru_cache(maxsize=64)
def reserved(same: Same, settings: Settings, capability: tuple[int, int] | None) -> Reserved:
    """What the allocator reserves beside it, which costs more to find than all else."""
    model = loading.as_loaded(same.model, capability, settings.compute_dtype)
    footprint, _, _, held = compiled(same, settings, capability)
    return Reserved(model, footprint, capability, scores=bool(held))
