"""From servers as written to cases: what each says, the model it serves, and an estimate on every accelerator that it may get."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from kvplan.checker import cards, models, reading, split
from kvplan.checker.cards import Card
from kvplan.checker.case import Case, Reading, Tried, Typical
from kvplan.checker.models import Sources
from kvplan.checker.reading import Read
from kvplan.checker.server import Server
from kvplan.checker.wording import spelled
from kvplan.core.errors import KvplanError
from kvplan.estimator import Estimate, Options, answer

_NOT_HERE = "it is not built in, not vendored, and not in the Hub's cache here; --online asks the Hub"
_TAKES_ALL = ("llama.cpp", "ollama")  # engines that spread over every card they see


class Given(NamedTuple):
    """What the project and the command line say beside the files."""

    sources: Sources = Sources()
    gpu: str | None = None
    labels: Mapping[str, str] = {}
    versions: Mapping[str, str] = {}
    typical: Typical = Typical()
    ask: Callable[[Options], Estimate] = answer


def remembering(given: Given) -> Given:
    """The same, and what is asked twice is estimated once."""
    return given._replace(ask=lru_cache(maxsize=1024)(given.ask))


def cases(servers: Sequence[Server], given: Given) -> tuple[Case, ...]:
    """A case for each server, in their order."""
    read = [reading.read(server, dict(given.versions)) for server in servers]
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, server in enumerate(servers):
        if server.co_located is not None:
            groups[server.file, server.co_located].append(i)
    found = []
    with models.only_cached(given.sources):
        for i, (server, one) in enumerate(zip(servers, read, strict=True)):
            group = groups[server.file, server.co_located] if server.co_located is not None else []
            neighbors = tuple(read[j].reading for j in group if j != i)
            tried = tuple(_tried(server, one, card, given) for card in cards.find(server.gpus, given.labels, given.gpu))
            found.append(Case(server, one.reading, one.parsed, tried, one.hidden, neighbors, given.typical))
    return tuple(found)


def _tried(server: Server, read: Read, card: Card, given: Given) -> Tried:
    n_gpus = _n_gpus(server, read.reading, card)
    if read.problem is not None or read.blocks:
        return Tried(card.matched, n_gpus, None, card.problem or read.problem)
    estimate, problem = _estimate(read, card, given, read.line, n_gpus)
    tp = None
    if estimate is not None:
        tp = split.mended(read.reading, estimate, lambda tp: _estimate(read, card, given, *_split(read, tp))[0])
    return Tried(card.matched, n_gpus, estimate, card.problem or problem, tp)


def _n_gpus(server: Server, said: Reading, card: Card) -> int | None:
    """As many as the file says, or its machine has; where only the card is known, as many as the engine takes."""
    if server.gpus.n_gpus is not None or card.matched is None:
        return server.gpus.n_gpus
    if card.n_gpus is not None and (server.gpus.names or said.engine in _TAKES_ALL):
        return card.n_gpus
    return None if card.is_machine or None in (said.tp, said.pp, said.dp) else _n_needed(said)


def _split(read: Read, tp: int) -> tuple[tuple[str, ...], int]:
    """The line with another tensor parallelism, and the cards that it takes."""
    return (*read.line, spelled(read.reading.engine).split, str(tp)), _n_needed(read.reading._replace(tp=tp))


def _estimate(read: Read, card: Card, given: Given, line: tuple[str, ...], n_gpus: int | None) -> tuple[Estimate | None, str | None]:
    said = read.reading
    if said.model is None:
        return None, None
    try:
        options = Options(
            model=models.find(said.model.text, given.sources),
            command=line,
            engine=f"{said.engine}@{said.version}" if said.version else said.engine,
            gpu=card.matched.gpu if card.matched else "none",
            gpus=str(n_gpus or _n_needed(said)) if card.matched else None,
        )
        return given.ask(options), None
    except KvplanError as refused:
        return None, _NOT_HERE if refused.kind == "offline" else refused.message


def _n_needed(said: Reading) -> int:
    """Of a server whose cards nobody counted, as many as it is split over."""
    return max(1, (said.tp or 1) * (said.pp or 1) * (said.dp or 1))
