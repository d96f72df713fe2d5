"""A server with everything that was found out about it: what the rules look at."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from kvplan.checker.server import Server, Word
from kvplan.core.engine import Parsed
from kvplan.core.ledger import Fix
from kvplan.estimator import Estimate

Level = Literal["error", "warning", "note"]


class Reading(NamedTuple):
    """What a server's command says, in the words of the contract; None where it says nothing."""

    engine: str | None
    version: str | None
    version_from: str | None
    model: Word | None
    ctx_tokens: int | None
    concurrency: int | None
    tp: int | None
    pp: int | None
    dp: int | None
    kv_dtype: str | None = None
    utilization: float | None = None


class Matched(NamedTuple):
    """An accelerator of the catalogue and the words that led to it."""

    gpu: str
    said: Word | None


class Tried(NamedTuple):
    """The server on one of the accelerators that it may land on: an estimate, or why there is none.

    ``tp`` is the nearest tensor parallelism that starts on such cards, where that of the server does not.
    """

    gpu: Matched | None
    n_gpus: int | None
    estimate: Estimate | None
    problem: str | None = None
    tp: int | None = None


class Typical(NamedTuple):
    """What the servers are for, where the project's settings say it: tokens of an ordinary sequence, sequences at once."""

    ctx_tokens: int | None = None
    concurrency: int | None = None


class Case(NamedTuple):
    """One server: as written, as read, as the engine parses it, and tried on each accelerator that it may get.

    ``neighbors`` are the other servers of its ``co_located`` group, with what they read as.
    """

    server: Server
    reading: Reading
    parsed: Parsed | None
    tried: tuple[Tried, ...]
    unresolved: tuple[str, ...]
    neighbors: tuple[Reading, ...] = ()
    typical: Typical = Typical()

    def says(self, *flags: str) -> bool:
        """Whether any of these flags stands in the command, in any spelling."""
        return self.at(*flags).text.lstrip("-").partition("=")[0].replace("_", "-") in {flag.lstrip("-") for flag in flags}

    def at(self, *flags: str) -> Word:
        """Where the first of these flags stands, the server's first word or line where none does."""
        spelled = {flag.lstrip("-").replace("_", "-") for flag in flags}
        for word in self.server.command:
            if word.text.startswith("-") and word.text.lstrip("-").partition("=")[0].replace("_", "-") in spelled:
                return word
        return self.server.command[0] if self.server.command else Word("", self.server.line)


class Found(NamedTuple):
    """A finding at a place of a file; ``server`` is None for what concerns the file alone."""

    rule: str
    level: Level
    file: str
    line: int
    column: int
    server: Server | None
    message: str
    hint: str = ""
    fixes: Sequence[Fix] = ()
