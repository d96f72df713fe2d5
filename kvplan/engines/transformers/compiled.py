"""What a model with its settings is on every GPU of one generation, made once: a search tries many of them."""

from kvplan.core.ledger import Finding
from kvplan.core.model import ModelSpec
from kvplan.core.remembered import Remembered
from kvplan.engines.transformers import loading, scores, weights
from kvplan.engines.transformers.footprint import Footprint
from kvplan.engines.transformers.passes import Device
from kvplan.engines.transformers.plan import compile_plan
from kvplan.engines.transformers.report import Kept, kept
from kvplan.engines.transformers.reserved import Reserved
from kvplan.engines.transformers.rules import rules_for
from kvplan.engines.transformers.settings import Settings

Compiled = tuple[Footprint, weights.Weights, Kept, tuple[Finding, ...]]

_compiled: Remembered[Compiled] = Remembered(64)
_reserved: Remembered[Reserved] = Remembered(64)


def compiled(model: ModelSpec, settings: Settings, capability: tuple[int, int] | None) -> Compiled:
    """The passes, the weights, the layers that keep something, and what to say of it."""
    return _compiled.get(model, (settings, capability), lambda: _compile(model, settings, capability))


def _compile(model: ModelSpec, settings: Settings, capability: tuple[int, int] | None) -> Compiled:
    rules, _ = rules_for(settings.version)
    loaded = loading.as_loaded(model, capability, settings.compute_dtype)
    plan = compile_plan(loaded, settings, rules)
    at_rest = weights.weights(loaded, settings, keeps_router=rules.keeps_router)
    device = Device(capability)
    return Footprint(plan, device), at_rest, kept(loaded, plan), scores.all_in_memory(plan, device)


def reserved(model: ModelSpec, settings: Settings, capability: tuple[int, int] | None) -> Reserved:
    """What the allocator reserves beside it, which costs more to find than all else."""
    return _reserved.get(model, (settings, capability), lambda: _reserve(model, settings, capability))


def _reserve(model: ModelSpec, settings: Settings, capability: tuple[int, int] | None) -> Reserved:
    loaded = loading.as_loaded(model, capability, settings.compute_dtype)
    footprint, _, _, held = compiled(model, settings, capability)
    return Reserved(loaded, footprint, capability, scores=bool(held))
