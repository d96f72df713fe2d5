"""The answer of the recommender; ``render`` turns it into text or JSON."""

from typing import NamedTuple

from kvplan.core.ledger import Finding, Fix
from kvplan.estimator import Estimate
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Form, Plan, Risk


class Proposal(NamedTuple):
    """One command that starts and fits for certain.

    ``found`` is its estimate as the command alone is estimated, ``headroom_bytes`` what is left with every promised sequence full.
    ``changes`` are the flags that differ from where the search began, ``why`` the reasons not to go further, ``checked_by`` the
    estimate as a command. ``cost`` is the price of a million tokens where prices were given.
    """

    plan: Plan
    command: tuple[str, ...]
    found: Estimate
    full: Estimate
    headroom_bytes: int
    risk: Risk
    form: Form
    changes: tuple[Fix, ...]
    findings: tuple[Finding, ...]
    why: str
    checked_by: tuple[str, ...]
    cost: float | None = None


class Rejected(NamedTuple):
    """A plan that was looked at and is not proposed."""

    plan: Plan
    command: tuple[str, ...]
    why: str


class Rung(NamedTuple):
    """So many sequences at once: what they need, and how fast all of them together are written (None where that is not known)."""

    concurrency: int
    needed_bytes: int
    decode_tokens_per_s: float | None
    verdict: str


class Elsewhere(NamedTuple):
    """A node that would do, with the weights in this form, "" for the best there is."""

    gpu: str
    n_devices: int
    headroom_bytes: int
    weights: str


class Recommendation(NamedTuple):
    """Proposals, the best first; ``elsewhere`` are the smallest nodes that would do where there is none.

    ``anywhere``: each proposal is for a node of its own.
    """

    case: Case
    why_engine: str
    proposals: tuple[Proposal, ...]
    rejected: tuple[Rejected, ...]
    ladder: tuple[Rung, ...]
    elsewhere: tuple[Elsewhere, ...]
    anywhere: bool = False

    @property
    def nearest(self) -> Rejected | None:
        """The nearest miss, where nothing fits."""
        return self.rejected[0] if self.rejected and not self.proposals else None
