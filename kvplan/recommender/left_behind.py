"""The last resort: layers, or the experts of some, on the host."""

from collections.abc import Callable, Iterable, Iterator

from kvplan.core.units import GIB
from kvplan.estimator.inverse import largest
from kvplan.recommender.plan import STORED, Plan
from kvplan.recommender.rewriting import form
from kvplan.recommender.trial import Bench, Trial, holds

USUAL_HOST_BYTES = 64 * GIB
"""What a host is taken to have where nobody said its size."""


def left_behind(bench: Bench, trials: Iterable[Trial]) -> Iterator[Trial]:
    """Plans with as little on the host as fits for certain, said in flags; none that the host can't hold."""
    splits = _Splits(bench)
    yield from (found for trial in trials if (found := splits.of(trial)) is not None)


class _Splits:
    """The splits of one case. What a plan can't keep on the cards, the same plan with weights in more bits can't either."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._kept: dict[Plan, list[tuple[float, int]]] = {}

    def of(self, trial: Trial) -> Trial | None:
        """The trial's plan as asked for, else with the least that must be served; None where neither fits."""
        case = self._bench.case
        if trial.found is None or not case.may_turn("gpu_layers", "cpu_moe") or not case.first.node.gpus:
            return None
        if _beyond_cards(trial) > (case.first.node.ram_bytes or USUAL_HOST_BYTES):
            return None
        asked = case.dialect.placed(case.start._replace(weights=trial.plan.weights, cache=trial.plan.cache, cpu_moe=None), case.model)
        least = asked._replace(ctx_tokens=min(asked.ctx_tokens, case.least_ctx), sequences=case.least_sequences)
        return next((found for plan in dict.fromkeys((asked, least)) if (found := self._split(plan)) is not None), None)

    def _split(self, plan: Plan) -> Trial | None:
        """The split that leaves the most on the cards for certain: experts go first, whole layers where that does not do."""
        n_layers = self._bench.case.model.n_layers
        if any(ffn.kind == "moe" for run in self._bench.case.model.runs for ffn in run.layer.ffns):
            without = plan._replace(cpu_moe=n_layers)
            if self._bench.demand(without).fits:
                return self._most(without, lambda n: plan._replace(cpu_moe=n_layers - n), n_layers - 1) or self._bench.demand(without)
            plan = without
        return self._most(plan, lambda n: plan._replace(gpu_layers=n), n_layers)

    def _most(self, plan: Plan, kept: Callable[[int], Plan], most: int) -> Trial | None:
        """The plan with the most on the cards, None where not even one layer fits."""

        def missing(n: int) -> int:
            trial = self._bench.demand(kept(n))
            return min(0, trial.short_bytes) if trial.fits else max(1, trial.short_bytes)

        bits, of_others = form(self._bench.case, plan).bits, self._kept.setdefault(plan._replace(weights=STORED), [])
        bound = min((n for fewer, n in of_others if fewer <= bits), default=None)
        if bound == 0:
            return None
        n = largest(missing, guess=bound or max(1, most // 2), most=bound or max(1, most))
        of_others.append((bits, n))
        found = self._bench.demand(kept(n)) if n else None
        return found if found is not None and holds(self._bench, found) else None


def _beyond_cards(trial: Trial) -> int:
    """Bytes that the cards together can't hold of what all places need."""
    assert trial.found is not None
    cards = [place for place in trial.found.places if place.place.id != "host"]
    host = sum(place.needed.low for place in trial.found.places if place.place.id == "host")
    return host + sum(place.needed.best - (place.usable_bytes or 0) for place in cards)
