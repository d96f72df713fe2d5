"""What a model under given settings is on every rank, whatever the length of its sequences: found once for all lengths."""

from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.ledger import Finding, Interval, NotModeled, Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.remembered import Remembered
from kvplan.engines.vllm import budget, notes
from kvplan.engines.vllm.backends import traits
from kvplan.engines.vllm.cache import Cache, cache
from kvplan.engines.vllm.profile import profile
from kvplan.engines.vllm.refusals import refusals_at_any_length
from kvplan.engines.vllm.rules import Rules, engine_rules, rules_for
from kvplan.engines.vllm.settings import Settings
from kvplan.engines.vllm.weighed import Weighed, weighed


class Resident(NamedTuple):
    """``taken`` and ``beside`` (all that a rank holds beside its pool) are by pipeline stage, ``available`` too, None where no GPU is
    known. ``stages`` are those of each GPU that a rank runs on, ``cards`` the bytes that each GPU has."""

    rules: Rules
    cache: Cache
    weighed: Weighed
    taken: tuple[budget.Taken, ...]
    beside: tuple[Interval, ...]
    available: tuple[Interval, ...] | None
    stages: dict[str, int]
    cards: dict[str, int]
    refusals: tuple[Refusal, ...]
    findings: tuple[Finding, ...]
    not_modeled: tuple[NotModeled, ...]


_known: Remembered[Resident] = Remembered(256)
_ANY = 0


def resident(model: ModelSpec, settings: Settings, node: Node) -> Resident:
    """The same for all lengths, but for states that are kept once a sequence, in a block of that length."""
    if not traits(model).keeps_state:
        settings = settings._replace(max_model_len=_ANY)
    return _known.get(model, (settings, node), lambda: _resident(model, settings, node))


def _resident(model: ModelSpec, settings: Settings, node: Node) -> Resident:
    rules, newer = engine_rules(settings.version, v1=settings.v1), rules_for(settings.version)[1]
    gpu = node.gpus[0] if node.gpus else None
    capability = gpu.compute_capability if gpu else None
    found, held = cache(model, settings, rules, capability), weighed(model, settings, rules, capability)
    taken = tuple(
        budget.Taken(held.held(stage), profile(model, settings, rules, gpu, stage=stage, newer=newer)) for stage in range(settings.pp)
    )
    places = node.places()[: max(1, settings.tp * settings.pp)]
    return Resident(
        rules=rules,
        cache=found,
        weighed=held,
        taken=taken,
        beside=tuple(_beside(rank) for rank in taken),
        available=budget.available(settings, node, taken),
        stages={place.id: min(i // settings.tp, settings.pp - 1) for i, place in enumerate(places)},
        cards={place.id: place.usable_bytes or 0 for place in node.places()},
        refusals=refusals_at_any_length(model, settings, found, node),
        findings=notes.findings(model, settings, found, newer=newer),
        not_modeled=notes.not_modeled(model, settings),
    )


def _beside(rank: budget.Taken) -> Interval:
    found = rank.profile
    return rank.weights.plus(found.budgeted).plus(found.later_graphs).plus(found.context)
