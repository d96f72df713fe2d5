"""What replaying a log comes to; ``render`` turns it into text or JSON."""

from typing import NamedTuple

from kvplan.core.ledger import Finding, Interval
from kvplan.prefixes.breaking import Cause
from kvplan.prefixes.chat import Chat
from kvplan.prefixes.saving import Savings
from kvplan.prefixes.serving import Serving


class LogRead(NamedTuple):
    """What the log held: lines, requests by kind, how many say what was written; and how its text became tokens."""

    name: str
    n_lines: int
    n_skipped: int
    kinds: dict[str, int]
    n_answered: int
    how: str
    tokenizer: str | None
    rendering: str


class Point(NamedTuple):
    """The share of prompt tokens that a pool of this many tokens finds; None is a pool without end."""

    pool_tokens: int | None
    hit_rate: float


class Warmth(NamedTuple):
    """Sessions, named by the log or told by what goes on with what; tokens they share, and of each its own.

    ``warm`` is how many the pool holds beside what they share, None where it has no end.
    """

    n_sessions: int
    named: bool
    distinct_tokens: int
    shared_tokens: int
    tokens_per_session: int
    warm: int | None


class Told(NamedTuple):
    """A cause of breaks, its share of the tokens that were computed, and the hit rate once it is mended (None where that can't be told)."""

    cause: Cause
    share_of_misses: float
    mended_rate: float | None


class Breaks(NamedTuple):
    """Causes, found in ``n_requests`` of the log; the hit rate of these as they are and with all of it mended."""

    n_requests: int
    is_whole: bool
    hit_rate: float
    causes: tuple[Told, ...]
    mended_rate: float | None


class Prefix(NamedTuple):
    """What a cache of prefixes finds of these requests, and what that saves.

    ``log`` is None for a made-up ``chat``. ``hit_range`` holds the hit rates at the bounds of the pool; ``endless_rate`` is that of a pool
    without end; ``thrash_tokens`` the pool below which hits fall by more than a twentieth, and ``curve`` the rates around it; these are
    None and empty for slots. ``savings`` says what that comes to in operations and time.
    """

    log: LogRead | None
    chat: Chat | None
    serving: Serving
    n_requests: int
    n_too_long: int
    prompt_tokens: int
    hit_tokens: int
    output_tokens: int
    hit_rate: float
    hit_range: tuple[float, float] | None
    endless_rate: float
    thrash_tokens: int | None
    curve: tuple[Point, ...]
    warmth: Warmth | None
    savings: Savings
    breaks: Breaks | None
    findings: tuple[Finding, ...]

    @property
    def pool(self) -> Interval | None:
        """Tokens that the pool holds, with the bounds of the estimate; None without end."""
        blocks, size = self.serving.pool_blocks, self.serving.block_tokens
        return None if blocks is None else Interval(*(n * size for n in blocks))
