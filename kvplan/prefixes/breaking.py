"""What breaks prefixes in a log: each request held to the earlier one that is most like it, and to the one that it goes on with."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kvplan.prefixes.comparing import SYSTEM, Break, breaks, cut_from_front
from kvplan.prefixes.patterns import Kind
from kvplan.prefixes.replaying import Seen
from kvplan.prefixes.request import Message, Request

_LEAST_TOKENS = 16  # a block: what is lost below it, no change brings back


class Broken(NamedTuple):
    """A break of one request: which, beside which, and what it cost in tokens."""

    found: Break
    line: int
    other_line: int
    at_tokens: int
    lost_tokens: int


class Cause(NamedTuple):
    """All breaks of one kind."""

    kind: Kind
    all: tuple[Broken, ...]

    @property
    def lost_tokens(self) -> int:
        """Tokens that were computed though an earlier request had them, behind the break."""
        return sum(one.lost_tokens for one in self.all)

    @property
    def n_requests(self) -> int:
        """Requests that it hit."""
        return len({one.line for one in self.all})

    @property
    def first_at(self) -> int:
        """The position, in tokens, of the break nearest to the front."""
        return min(one.at_tokens for one in self.all)

    @property
    def example(self) -> Broken:
        """The break that cost most, the first of equal ones."""
        return max(self.all, key=lambda one: one.lost_tokens)


def causes(sample: Sequence[Seen]) -> tuple[Cause, ...]:
    """What breaks the prefixes of these requests, the costliest first."""
    found: dict[Kind, list[Broken]] = {}
    systems = Counter(_system(seen.request) for seen in sample)
    spoken: dict[Message, int] = {}
    last: dict[str, int] = {}
    for i, seen in enumerate(sample):
        for broken in _of_one(i, sample, spoken, last):
            kind = _settled(broken.found, seen.request, systems)
            if kind is not None:
                found.setdefault(kind, []).append(broken)
        spoken.update((message, i) for message in seen.request.messages if message.role not in SYSTEM)
        name = seen.request.session or seen.request.user
        last.update({name: i} if name else {})
    made = (Cause(kind, tuple(all_)) for kind, all_ in found.items())
    return tuple(sorted(made, key=lambda cause: -cause.lost_tokens))


def _of_one(i: int, sample: Sequence[Seen], spoken: dict[Message, int], last: dict[str, int]) -> Iterator[Broken]:
    """The breaks of one request, each with all that both requests have in common behind it."""
    seen = sample[i]
    request, missed = seen.request, seen.n_prompt - seen.hit_tokens
    found, other = _most(request, sample, _others(seen, spoken, last))
    per_sign = seen.n_prompt / max(1, signs(request))
    behind = sum(one.lost for one in found)
    for one in found:
        lost = min(missed, round(behind * per_sign))
        behind -= one.lost
        if lost >= _LEAST_TOKENS:
            yield Broken(one, request.line, sample[other].request.line, round(one.at * per_sign), lost)


def _others(seen: Seen, spoken: dict[Message, int], last: dict[str, int]) -> Iterator[int]:
    """Earlier requests that it could go on from: the most alike, the last of its session or user, the one with its first message."""
    if seen.like is not None:
        yield seen.like
    name = seen.request.session or seen.request.user
    if name in last:
        yield last[name]
    first = next((message for message in seen.request.messages if message.role not in SYSTEM), None)
    if first is not None and first in spoken:
        yield spoken[first]


def _most(request: Request, sample: Sequence[Seen], others: Iterable[int]) -> tuple[tuple[Break, ...], int]:
    """The breaks beside the earlier request that it has most in common with, were it not for them."""
    best: tuple[tuple[Break, ...], int] = (), 0
    for other in dict.fromkeys(others):
        earlier = sample[other].request
        cut = cut_from_front(request, earlier)
        found = (cut,) if cut else breaks(request, earlier)
        if sum(one.lost for one in found) > sum(one.lost for one in best[0]):
            best = found, other
    return best


def signs(request: Request) -> int:
    """The length of a prompt without markers."""
    if request.text is not None:
        return len(request.text)
    return sum(len(tool.json) for tool in request.tools) + sum(len(message.text) + len(message.extra) for message in request.messages)


def _system(request: Request) -> str | None:
    return next((message.text for message in request.messages if message.role in SYSTEM), None)


def _settled(found: Break, request: Request, systems: Counter[str | None]) -> Kind | None:
    """The kind, once it is known whether a system text that differs comes again: then it is a variant, else somebody's own."""
    if found.kind != "system_variants" or systems[_system(request)] > 1:
        return found.kind
    return "private_text" if found.after or found.before else None
