"""One plan through the estimator: the same answer that ``kvplan estimate -- COMMAND`` gives."""

from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.core.units import format_size
from kvplan.estimator import Estimate, answer
from kvplan.recommender import rewriting
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan


class Trial(NamedTuple):
    """What came of a plan; ``why_not`` says it where there is no estimate at all.

    ``moved`` are layers left on accelerators, and layers whose experts are not, where the engine chose so.
    """

    plan: Plan
    found: Estimate | None
    why_not: str = ""
    moved: tuple[int | None, int | None] = (None, None)

    @property
    def starts(self) -> bool:
        """Whether the engine starts and even the upper bounds fit, wherever it lays the layers."""
        return self.found is not None and not self.found.refusals and self.found.verdict == "fits"

    @property
    def fits(self) -> bool:
        """Whether it starts with everything where the plan says."""
        return self.starts and self.moved == (None, None)

    @property
    def is_hopeless(self) -> bool:
        """Whether the weights alone are more than a place has: nothing but other weights, or more places, helps."""
        if self.found is None:
            return True
        weights = {place.place.id: place.usable_bytes for place in self.found.places if place.usable_bytes is not None}
        for entry in self.found.entries:
            if entry.term == "weights" and entry.place in weights:
                weights[entry.place] -= entry.size.low
        return any(left < 0 for left in weights.values())

    @property
    def short_bytes(self) -> int:
        """Bytes by which the upper bound misses the poorest place; 0 or less where it fits."""
        if self.found is None:
            return 2**62
        known = [place.needed.high - place.usable_bytes for place in self.found.places if place.usable_bytes is not None]
        return max(known, default=0)

    @property
    def reason(self) -> str:
        """Why it is not proposed: what the engine says, or what is missing."""
        if self.found is None:
            return self.why_not
        if self.found.refusals and self.found.refusals[0].at != "kv_check":
            refusal = self.found.refusals[0]
            return f"{self.found.engine} refuses it at {refusal.at} [{refusal.rule}]: {refusal.text}"
        if self.moved != (None, None):
            return "not all of its layers fit the accelerators for certain"
        if self.short_bytes > 0:
            sure = "" if self.found.verdict == "does_not_fit" else " of fitting for certain"
            return f"{format_size(self.short_bytes)} short{sure}"
        return f"its verdict is {self.found.verdict.replace('_', ' ')}"


class Bench:
    """Tries plans of one case; each once."""

    def __init__(self, case: Case) -> None:
        """Knows nothing yet."""
        self.case = case
        self._known: dict[tuple[Plan, int, int], Trial] = {}

    def demand(self, plan: Plan) -> Trial:
        """The plan with all that it promises: so many sequences, every one full."""
        return self.at(plan, plan.ctx_tokens, self.case.promised(plan))

    def alone(self, plan: Plan) -> Trial:
        """The plan as its command alone is estimated: one full sequence."""
        return self.at(plan, plan.ctx_tokens, 1)

    def at(self, plan: Plan, ctx: int, batch: int) -> Trial:
        """The plan with ``batch`` sequences of ``ctx`` tokens."""
        key = (plan, ctx, batch)
        if key not in self._known:
            self._known[key] = self._tried(plan, ctx, batch)
        return self._known[key]

    def _tried(self, plan: Plan, ctx: int, batch: int) -> Trial:
        case = self.case
        dtype = None if case.by_name else rewriting.on_paper(case, plan)
        words = rewriting.command(case, plan)
        try:
            found = answer(case.options._replace(command=words, ctx=str(ctx), batch=str(batch), dtype=dtype), elsewhere=False)
        except RequestError as problem:
            return Trial(plan, None, problem.message)
        by_hand = plan.gpu_layers is not None or plan.cpu_moe is not None or not found.node.gpus
        return Trial(plan, found, moved=(None, None) if by_hand else case.dialect.left_out(found))


def holds(bench: Bench, trial: Trial) -> bool:
    """Whether it fits with all that it promises, and as its command alone is estimated."""
    return trial.fits and bench.alone(trial.plan).fits
