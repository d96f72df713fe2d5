"""What a million tokens cost on a node whose hour has a price."""

from collections.abc import Sequence

from kvplan.recommender.anywhere import Place
from kvplan.recommender.result import Proposal
from kvplan.recommender.speed import tokens_per_s

_MILLION, _HOUR_S = 1e6, 3600.0
_CHEAPER = 0.97


def priced(proposal: Proposal, hour: float | None) -> Proposal:
    """The proposal with its cost, where both the price and its speed with every sequence running are known."""
    per_s = tokens_per_s(proposal.full)
    return proposal if hour is None or not per_s else proposal._replace(cost=hour * _MILLION / (per_s * _HOUR_S))


def cheapest(order: list[int], proposals: Sequence[Proposal], places: Sequence[Place]) -> list[int]:
    """The cheapest first; of nodes with the same card the smallest, unless more cards make a token cheaper."""
    costs = [_cost(proposal, place.price) for proposal, place in zip(proposals, places, strict=True)]
    best: dict[str, int] = {}
    for i in sorted(order, key=lambda i: places[i].n_gpus):
        known = best.get(places[i].gpu.id)
        if known is None or costs[i] < (costs[known][0], costs[known][1] * _CHEAPER):
            best[places[i].gpu.id] = i
    return sorted(best.values(), key=lambda i: costs[i])


def _cost(proposal: Proposal, hour: float | None) -> tuple[bool, float]:
    """By cost; what has none comes last, by the price of an hour."""
    return proposal.cost is None, proposal.cost if proposal.cost is not None else hour or 0.0
