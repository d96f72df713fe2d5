"""The last resort: layers, or the experts of some, on the host."""

from kvplan.core.units import GIB
from kvplan.estimator.inverse import largest
from kvplan.recommender.plan import Plan
from kvplan.recommender.trial import Bench, Trial, holds

USUAL_HOST_BYTES = 64 * GIB
"""What a host is taken to have where nobody said its size."""


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
    """The split that leaves the most on the cards for certain, near the one that the engine would choose; cards are not filled evenly."""
    layers, experts = bench.demand(plan).moved
    if (layers, experts) == (None, None):
        return []
    n_layers = bench.case.model.n_layers

    def kept(n: int) -> Plan:
        return plan._replace(cpu_moe=n_layers - n) if layers is None else plan._replace(gpu_layers=n, cpu_moe=experts)

    def missing(n: int) -> int:
        trial = bench.demand(kept(n))
        return min(0, trial.short_bytes) if trial.fits else max(1, trial.short_bytes)

    likely = n_layers - (experts or 0) if layers is None else layers
    most = largest(missing, guess=max(1, likely), most=max(1, likely))
    found = bench.demand(kept(most))
    return [found] if most and holds(bench, found) else []
