"""The last resort: layers, or the experts of some, on the host."""

from kvplan.core.units import GIB
from kvplan.recommender.plan import Plan
from kvplan.recommender.trial import Bench, Trial, holds

USUAL_HOST_BYTES = 64 * GIB
"""What a host is taken to have where nobody said its size."""
_MOST_MORE = 4


def left_behind(bench: Bench, trial: Trial) -> Trial | None:
    """The plan with what the engine would move to the host said in flags, a layer more where that is not certain; None if none fits."""
    case = bench.case
    if trial.found is None or not case.may_turn("gpu_layers", "cpu_moe") or not case.first.node.gpus:
        return None
    if _beyond_cards(trial) > (case.first.node.ram_bytes or USUAL_HOST_BYTES):
        return None
    asked = case.start._replace(weights=trial.plan.weights, cache=trial.plan.cache, gpu_layers=None, cpu_moe=None)
    least = asked._replace(ctx_tokens=min(asked.ctx_tokens, case.least_ctx), sequences=case.least_sequences)
    return next((found for plan in dict.fromkeys((asked, least)) for found in _shared(bench, plan)), None)


def _beyond_cards(trial: Trial) -> int:
    """Bytes that the cards together can't hold of what all places need."""
    assert trial.found is not None
    cards = [place for place in trial.found.places if place.place.id != "host"]
    host = sum(place.needed.low for place in trial.found.places if place.place.id == "host")
    return host + sum(place.needed.best - (place.usable_bytes or 0) for place in cards)


def _shared(bench: Bench, plan: Plan) -> list[Trial]:
    """The first split between cards and host that fits for certain."""
    layers, experts = bench.demand(plan).moved
    for less in range(_MOST_MORE if (layers, experts) != (None, None) else 0):
        kept = None if layers is None else max(0, layers - less)
        found = bench.demand(plan._replace(gpu_layers=kept, cpu_moe=None if experts is None else experts + less))
        if holds(bench, found):
            return [found]
    return []
