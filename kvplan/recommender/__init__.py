"""Which settings to run: a search over the exact models of the engines, ranked for a goal, with the reason why not more."""

from typing import TYPE_CHECKING

from kvplan.core.errors import NoFitError, RequestError
from kvplan.recommender.anywhere import places
from kvplan.recommender.asking import Asked, cases
from kvplan.recommender.case import GOALS, Case
from kvplan.recommender.costs import cheapest, priced
from kvplan.recommender.proposing import ladder, proposal, rejected
from kvplan.recommender.request import Request, in_words
from kvplan.recommender.result import Elsewhere, Proposal, Recommendation, Rejected, Rung
from kvplan.recommender.search import MOST_PROPOSED, Outcome, explore

if TYPE_CHECKING:
    from typing import Unpack

    from kvplan.estimator.options import Keywords

MOST_ELSEWHERE = 3

__all__ = ["GOALS", "Proposal", "Recommendation", "Rejected", "Request", "Rung", "answer", "recommend"]


def recommend(model: str, *, goal: str | None = None, keep: str = "", **options: "Unpack[Keywords]") -> Recommendation:
    """What to run: ``recommend("qwen3-8b", gpu="l4", goal="context")``.

    Options are those of ``estimate``; ``ctx`` and ``batch`` are the least that must be served. ``keep`` names flags that stay, with
    commas. The answer has ``proposals`` (command, estimate, headroom, quality risk, changes, why not more), ``rejected`` and
    ``ladder``. Raises KvplanError for a wrong request.
    """
    return answer(in_words(model, options, goal=goal, keep=keep))


def answer(asked: Request) -> Recommendation:
    """What to run; without proposals where nothing fits. Raises KvplanError for a wrong request."""
    if (asked.options.gpu or "").strip().lower() == "any":
        return _anywhere(asked)
    if asked.prices:
        raise RequestError("contradiction", "--price chooses among cards, and --gpu names one", hint="say --gpu any")
    return _on(cases(asked))


def _on(found: Asked) -> Recommendation:
    outcomes: list[Outcome] = []
    for case in found.cases:
        outcomes.append(explore(case))
        if outcomes[-1].fitting:
            break
    chosen = outcomes[-1] if outcomes[-1].fitting else outcomes[0]
    return _said(chosen, found.why_engine if chosen is outcomes[0] else f"{outcomes[0].bench.case.dialect.engine} fits nothing here")


def _said(outcome: Outcome, why_engine: str) -> Recommendation:
    bench = outcome.bench
    best = outcome.fitting[:MOST_PROPOSED]
    return Recommendation(
        case=bench.case,
        why_engine=why_engine,
        proposals=tuple(proposal(bench, trial) for trial in best),
        rejected=rejected(bench, best, outcome.failed),
        ladder=ladder(bench, best[0].plan) if best else (),
        elsewhere=() if best else _elsewhere(bench.case),
    )


def _anywhere(asked: Request) -> Recommendation:
    """The best proposal of each node, the smallest node first; with prices the cheapest first."""
    if asked.prices and asked.goal is None:
        asked = asked._replace(goal="cost")
    found = [(place, explore(place.asked.cases[0])) for place in places(asked)]
    served = [(place, outcome) for place, outcome in found if outcome.fitting]
    if not served:
        raise NoFitError(
            "nothing_fits", "no node of the catalogue serves this for certain", hint="a shorter --ctx, fewer at once, a smaller model"
        )
    named = [priced(proposal(outcome.bench, outcome.fitting[0]), place.price) for place, outcome in served]
    order = list(range(len(named)))
    if asked.prices:
        order = cheapest(order, named, [place for place, _ in served])
    first = served[order[0]]
    best = _said(first[1], "the usual server on such cards")
    return best._replace(proposals=tuple(named[i] for i in order[:MOST_PROPOSED]), anywhere=True)


def _elsewhere(case: Case) -> tuple[Elsewhere, ...]:
    """The smallest nodes that would serve what was asked for."""
    options = case.options._replace(command=case.command if case.pasted else (), model=None if case.pasted else case.ref, budget=None)
    asked = Request(
        options._replace(engine=None if not case.pasted else options.engine, ctx=str(case.least_ctx), batch=str(case.least_sequences))
    )
    return tuple(Elsewhere(place.gpu.id, place.n_gpus, place.headroom_bytes, place.form) for place in places(asked, MOST_ELSEWHERE))
