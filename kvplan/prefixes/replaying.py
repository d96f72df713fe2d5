"""A log through a cache: one request after the other, in the order of the log."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from kvplan.prefixes.request import Request
from kvplan.prefixes.tokens import Tokens
from kvplan.replay import Blocks, Shape, Slots
from kvplan.replay.blocks import TOKEN_BYTES

SAMPLE_BYTES = 32 * 2**20
"""Text that is kept to look at what breaks prefixes; a log that has more is looked at as far as this goes."""


class Seen(NamedTuple):
    """A request that is kept, and which earlier one of these is most like it, None for the first."""

    request: Request
    like: int | None
    n_prompt: int
    hit_tokens: int


class Replay:
    """What went through, counted: ``pairs`` are (prompt tokens, tokens found), ``endless`` is what a pool without end finds."""

    def __init__(self, tokens: Tokens, cache: Blocks | Slots) -> None:
        """Nothing yet; ``tokens`` reads requests, ``cache`` serves them."""
        self.tokens, self.cache = tokens, cache
        self.pairs: Counter[tuple[int, int]] = Counter()
        self.kinds: Counter[str] = Counter()
        self.n_too_long = self.n_answered = self.n_media = self.n_untimely = 0
        self.prompt_tokens = self.hit_tokens = self.endless = self.output_tokens = self.longest = 0
        self.apart: set[tuple[str | None, str | None]] = set()
        self.sample: list[Seen] = []
        self.is_whole = True
        self._named: dict[str, int] = {}
        self._sampled = 0
        self._kept: list[int | None] = []
        self._last_time: float | None = None

    @property
    def n_requests(self) -> int:
        """Requests that were served."""
        return sum(self.pairs.values())

    @property
    def hit_rate(self) -> float:
        """The share of prompt tokens that was found."""
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def n_named(self) -> int:
        """Sessions that the log names."""
        return len(self._named)

    def feed(self, requests: Iterable[Request]) -> "Replay":
        """Serve them all."""
        for request in requests:
            self.serve(request)
        return self

    def serve(self, request: Request) -> int | None:
        """Tokens of the next request that were found; None of one that the pool can't hold, which is left out."""
        found = self.tokens.encoded(request)
        self._note(request)
        self.longest = max(self.longest, found.n_kept)
        if isinstance(self.cache, Slots):
            like, hits = None, self.cache.take(found.content[: found.n_kept * TOKEN_BYTES], found.n_prompt)
            endless = hits
        elif not self.cache.fits(found.n_kept):
            self.n_too_long += 1
            return None
        else:
            taken = self.cache.take(found.content, found.n_prompt, found.n_kept, session=self._session(request), apart=request.apart)
            like, hits, endless = taken.like, taken.hit_tokens, taken.endless_hit_tokens
        self.pairs[found.n_prompt, hits] += 1
        self.prompt_tokens += found.n_prompt
        self.hit_tokens += hits
        self.endless += endless
        self.output_tokens += found.n_output
        self._keep(request, like, found.n_prompt, hits)
        return hits

    def _note(self, request: Request) -> None:
        self.kinds["ids" if request.ids is not None else "text" if request.text is not None else "chat"] += 1
        self.n_answered += request.answer is not None
        self.n_media += request.n_media
        self.apart.add(request.apart)
        if request.time is not None:
            self.n_untimely += self._last_time is not None and request.time < self._last_time
            self._last_time = request.time

    def _session(self, request: Request) -> int | None:
        """A number below zero for a session, or a user, that the log names."""
        name = request.session or request.user
        return None if name is None else -2 - self._named.setdefault(name, len(self._named))

    def _keep(self, request: Request, like: int | None, n_prompt: int, hits: int) -> None:
        """Keep a request that can be read, while there is room."""
        if request.ids is None and self._sampled < SAMPLE_BYTES:
            self._sampled += _size(request)
            self._kept.append(len(self.sample))
            self.sample.append(Seen(request, None if like is None else self._kept[like], n_prompt, hits))
        else:
            self.is_whole = self.is_whole and request.ids is not None
            if self.is_whole:
                self._kept.append(None)


def _size(request: Request) -> int:
    tools = sum(len(tool.json) for tool in request.tools)
    return len(request.text or "") + tools + sum(len(message.text) + len(message.extra) for message in request.messages)


def through(requests: Iterable[Request], tokens: Tokens, shape: Shape) -> Replay:
    """A replay through a pool of blocks of its own."""
    return Replay(tokens, Blocks(shape)).feed(requests)
