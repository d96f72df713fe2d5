"""What a million tokens cost on a node whose hour has a price."""

from kvplan.recommender.result import Proposal
from kvplan.recommender.speed import tokens_per_s

_MILLION, _HOUR_S = 1e6, 3600.0


def priced(proposal: Proposal, hour: float | None) -> Proposal:
    """The proposal with its cost, where both the price and its speed with every sequence running are known."""
    per_s = tokens_per_s(proposal.full)
    return proposal if hour is None or not per_s else proposal._replace(cost=hour * _MILLION / (per_s * _HOUR_S))


def cost_order(proposal: Proposal, hour: float | None) -> tuple[bool, float]:
    """By cost; what has none comes last, by the price of an hour."""
    return proposal.cost is None, proposal.cost if proposal.cost is not None else hour or 0.0
