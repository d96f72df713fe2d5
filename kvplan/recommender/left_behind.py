"""The last resort: layers, or the experts of some, on the host."""

from collections.abc import Callable

from kvplan.core.units import GIB
from kvplan.estimator.inverse import largest
from kvplan.recommender.plan import Plan
from kvplan.recommender.trial import Bench, Trial, holds

USUAL_HOST_BYTES = 64 * GIB
"""What a host is taken to have where nobody said its size."""


def left_behind(bench: Bench, trial: Trial) -> Trial | None:
    """The plan with as little on the host as fits for certain, said in flags; None where nothing does, or the host would hold too much."""
    case = bench.case
    if trial.found is None or not case.may_turn("gpu_layers", "cpu_moe") or not case.first.node.gpus:
        return None
    if _beyond_cards(trial) > (case.first.node.ram_bytes or USUAL_HOST_BYTES):
        return None
    asked = case.dialect.placed(case.start._replace(weights=trial.plan.weights, cache=trial.plan.cache, cpu_moe=None), case.model)
    least = asked._replace(ctx_tokens=min(asked.ctx_tokens, case.least_ctx), sequences=case.least_sequences)
    return next((found for plan in dict.fromkeys((asked, least)) if (found := _split(bench, plan)) is not None), None)


def _beyond_cards(trial: Trial) -> int:
    """Bytes that the cards together can't hold of what all places need."""
    assert trial.found is not None
    cards = [place for place in trial.found.places if place.place.id != "host"]
    host = sum(place.needed.low for place in trial.found.places if place.place.id == "host")
    return host + sum(place.needed.best - (place.usable_bytes or 0) for place in cards)


def _split(bench: Bench, plan: Plan) -> Trial | None:
    """The split that leaves the most on the cards for certain: experts go first, whole layers where that does not do."""
    n_layers = bench.case.model.n_layers
    if any(ffn.kind == "moe" for run in bench.case.model.runs for ffn in run.layer.ffns):
        without = plan._replace(cpu_moe=n_layers)
        if bench.demand(without).fits:
            return _most(bench, lambda n: plan._replace(cpu_moe=n_layers - n), n_layers - 1) or bench.demand(without)
        plan = without
    return _most(bench, lambda n: plan._replace(gpu_layers=n), n_layers)


def _most(bench: Bench, kept: Callable[[int], Plan], most: int) -> Trial | None:
    """The plan with the most on the cards, None where not even one layer fits."""

    def missing(n: int) -> int:
        trial = bench.demand(kept(n))
        return min(0, trial.short_bytes) if trial.fits else max(1, trial.short_bytes)

    n = largest(missing, guess=max(1, most // 2), most=max(1, most))
    found = bench.demand(kept(n)) if n else None
    return found if found is not None and holds(bench, found) else None
