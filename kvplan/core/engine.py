"""The seam between kvplan and an engine: one Deployment answers estimate, check, recommend, sweep and verify.

parse(argv) → Parsed · resolve(parsed, workload, model, node, version) → Settings · deploy(model, settings, node) →
Deployment · command(settings) → argv. Two properties hold for every engine and are tested: ``need_bytes`` is the sum
of ``entries``, and ``resolve(parse(command(s))) == s``.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from kvplan.core.device import Node
from kvplan.core.ledger import Entry, Finding, Interval, KvPlan, NotModeled, Phases, Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.pace import Held, Pace
from kvplan.core.workload import Workload


class Flag(NamedTuple):
    """One setting as the user wrote it, and the line it stands on where it came from a file."""

    name: str
    value: str
    line: int | None = None


class Parsed(NamedTuple):
    """An engine's command line, read but not resolved: no model, no defaults. ``findings`` say what was odd in it.

    ``draft`` names the model that drafts for the first one, where the command asks for one. ``refusals`` are what the engine's own
    argument parser says no to. ``overrides`` is a JSON object of config keys that the command puts over the model's own.
    """

    engine: str
    version: str | None
    model: str | None
    flags: tuple[Flag, ...] = ()
    ignored: tuple[Flag, ...] = ()
    unknown: tuple[Flag, ...] = ()
    findings: tuple[Finding, ...] = ()
    draft: str | None = None
    refusals: tuple[Refusal, ...] = ()
    overrides: str | None = None


class Capacity(NamedTuple):
    """What the engine's cache pool holds, None for an engine without one.

    ``max_ctx_tokens`` is the longest context that fits, of an engine with a pool the longest that it starts with, one sequence at a
    time; ``max_batch`` the largest batch that fits for certain. Both are exact inverses of the estimate.
    """

    kv_budget: Interval | None
    block_tokens: int | None
    bytes_per_block: int | None
    n_blocks: int | None
    kv_tokens: Interval | None
    max_concurrency: tuple[float, float, float] | None
    max_ctx_tokens: int | None
    max_batch: int | None


class Deployment(Protocol):
    """One model on one engine with resolved settings on one node; weights and cache geometry are computed once, here."""

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What the engine itself would refuse, whatever the workload."""
        ...

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the user should know about these settings."""
        ...

    @property
    def not_modeled(self) -> tuple[NotModeled, ...]:
        """What is known to exist and is not in the entries."""
        ...

    def entries(self, load: Workload) -> tuple[Entry, ...]:
        """The ledger of what the process will hold for this workload."""
        ...

    def need_bytes(self, place: str, load: Workload) -> Interval:
        """What this workload needs at ``place``: the hot path of sweeps and inverses, integers only."""
        ...

    def usable_bytes(self, place: str) -> int | None:
        """What the engine may use of ``place`` where that is less than the place has: all that it holds beside its pool, and the pool."""
        ...

    def phases(self, load: Workload) -> Phases:
        """Live tensor bytes by phase."""
        ...

    def kv(self, load: Workload) -> KvPlan:
        """The cache on the fullest device."""
        ...

    def held(self) -> Held:
        """What steps read: equal for settings that keep weights and cache alike."""
        ...

    def capacity(self, load: Workload) -> Capacity | None:
        """The pool, for engines that have one; None for those that allocate as they go."""
        ...

    def resolved(self) -> Mapping[str, int]:
        """Settings that the model decides of, shown in the place of those that were asked for."""
        ...

    def log_lines(self) -> tuple[str, ...]:
        """What the engine will print about its memory."""
        ...


S = TypeVar("S")


class Engine(Protocol[S]):
    """An inference engine; found by its folder under ``kvplan/engines``."""

    @property
    def name(self) -> str:
        """The name people type after ``--engine``."""
        ...

    @property
    def versions(self) -> Sequence[str]:
        """Versions whose rules are modeled, oldest first."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """Options of kvplan that mean something to it, and what they are called among its own settings."""
        ...

    @property
    def formats(self) -> Sequence[str]:
        """Formats of checkpoints whose quantization it runs as it is stored: safetensors, gguf."""
        ...

    @property
    def follows(self) -> Sequence[str]:
        """Fields of the workload that its settings follow where there is no command; the others change no setting."""
        ...

    def parse(self, argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
        """Read an engine command; ``version`` is empty where nobody said one."""
        ...

    def resolve(self, parsed: Parsed, load: Workload, model: ModelSpec, node: Node, version: str) -> S:
        """Fill in the engine's defaults for this model, workload and node; beside a command the workload doesn't matter."""
        ...

    def deploy(self, model: ModelSpec, settings: S, node: Node) -> Deployment:
        """Compute what does not depend on the workload."""
        ...

    def command(self, settings: S) -> tuple[str, ...]:
        """The command that gives these settings; the inverse of parse and resolve."""
        ...

    def limits(self, settings: S) -> tuple[int | None, int | None]:
        """The longest sequence and the most sequences at once that the settings allow, None where nothing limits them."""
        ...

    def pace(self, settings: S, model: ModelSpec) -> Pace | None:
        """What of the settings bears on time; None where nobody modeled how long they take (drafting, weights moved in each step)."""
        ...

    def shown(self, settings: S) -> Mapping[str, int | float | str | bool | None]:
        """The settings as ``engine.settings`` in the answer."""
        ...


@runtime_checkable
class ReadsFile(Protocol):
    """An engine whose commands may name a file of settings. Engines read no files: they say which, and are handed its content."""

    def config_file(self, argv: Sequence[str]) -> str | None:
        """The file that the command names, None where it names none."""
        ...

    def with_config(self, argv: Sequence[str], content: Mapping[str, object]) -> tuple[str, ...]:
        """The command with the file's settings in it, in the place that gives them their precedence."""
        ...


@runtime_checkable
class ReadsText(Protocol):
    """An engine whose commands may name a file of settings in a language of its own."""

    def text_file(self, argv: Sequence[str]) -> str | None:
        """The file that the command names, None where it names none."""
        ...

    def with_text(self, argv: Sequence[str], text: str) -> tuple[str, ...]:
        """The command with the file's settings in it. Raises RequestError for text that is not in that language."""
        ...
