"""One question to the recommender, settled: which engine, where from, how much at least, what must stay."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from kvplan.core.model import ModelSpec
from kvplan.estimator import Estimate, Options
from kvplan.recommender.plan import Form, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

GOALS = ("context", "concurrency", "latency", "throughput", "cost", "quality")


class Spelling(NamedTuple):
    """A flag: how kvplan writes it, and what else people write for it.

    A ``flag`` has its value in the next word, a ``variable`` stands before the command as NAME=VALUE, a ``parameter`` behind it.
    """

    flag: str
    others: tuple[str, ...] = ()
    kind: Literal["flag", "variable", "parameter"] = "flag"


class Dialect(Protocol):
    """What the search needs to know of an engine's flags; numbers come from the engine itself."""

    @property
    def engine(self) -> str:
        """Its name."""
        ...

    @property
    def spellings(self) -> Mapping[str, tuple[Spelling, ...]]:
        """The flags of each knob that it has."""
        ...

    @property
    def most_sequences(self) -> int:
        """Sequences at once beyond which more bring nothing."""
        ...

    @property
    def reserves(self) -> bool:
        """Whether memory for every sequence is taken at start, so that fewer need other settings."""
        ...

    def placed(self, plan: Plan, model: ModelSpec) -> Plan:
        """The plan with everything on accelerators, said in flags where the engine would else decide."""
        ...

    def plain(self, model: str, *, n_cards: int) -> tuple[str, ...]:
        """The shortest command that serves ``model`` with all of it on the cards, where there are any."""
        ...

    def read(self, found: Estimate, form: str | None) -> Plan:
        """The settings of an estimate as a plan; ``form`` is the scheme on paper that the model's name asks for."""
        ...

    def said(self, knob: str, plan: Plan) -> str:
        """The value of a knob's flag, "" where the flag is to be left out."""
        ...

    def forms(self, case: "Case") -> "Sequence[Form]":
        """The ways in which weights may lie here, the best first."""
        ...

    def caches(self, case: "Case") -> "Sequence[str]":
        """Element types of 8 bits in which the cache may lie here, the best first."""
        ...

    def left_out(self, found: Estimate) -> tuple[int | None, int | None]:
        """Layers that stay on accelerators and layers whose experts leave them where the engine moves some by itself."""
        ...


class Case(NamedTuple):
    """``command`` is what the user has (``pasted``), or the engine's shortest; ``base`` are its settings. The search begins at ``start``,
    of which ``first`` is the estimate: those settings with what kvplan's own options say.

    ``form`` is the scheme that the weights lie in on paper, ``by_name``: it can stand behind the model's name; else ``--dtype`` says
    it. ``least_ctx`` tokens and ``least_sequences`` must be served; ``ctx_said``: the first was asked for. ``keep`` are knobs that
    stay, ``forms`` the ways in which weights may lie, ``stored_bits`` the bits of a parameter as they do. ``whole_nodes``: all cards of a
    node are paid for, those that idle too.
    """

    ref: str
    form: str | None
    model: ModelSpec
    command: tuple[str, ...]
    pasted: bool
    options: Options
    dialect: Dialect
    base: Plan
    start: Plan
    first: Estimate
    goal: str | None
    least_ctx: int
    least_sequences: int
    ctx_said: bool
    keep: frozenset[str]
    stored_bits: float
    by_name: bool = True
    whole_nodes: bool = False
    forms: tuple[Form, ...] = ()

    @property
    def limit(self) -> int | None:
        """Positions that the model was made for."""
        return self.model.max_ctx_tokens

    @property
    def is_shared(self) -> bool:
        """Whether other processes hold memory of the cards."""
        return any(self.first.node.used_before_bytes)

    def promised(self, plan: Plan) -> int:
        """Full sequences that must fit at once: all that the plan names; of a pasted command's limit no more than were asked for."""
        if self.pasted and self.goal not in ("concurrency", "throughput"):
            return min(plan.sequences, self.least_sequences)
        return plan.sequences

    def may_turn(self, *knobs: str) -> bool:
        """Whether none of these must stay, and the engine has a flag for each."""
        return not self.keep & set(knobs) and all(knob in self.dialect.spellings for knob in knobs)
