"""From servers as written to cases: what each says, the model it serves, and an estimate on every accelerator that it may get."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.checker import cards, models, reading
from kvplan.checker.cards import Card
from kvplan.checker.case import Case, Reading, Tried, Typical
from kvplan.checker.models import Sources
from kvplan.checker.reading import Read
from kvplan.checker.server import Server
from kvplan.core.errors import KvplanError
from kvplan.estimator import Estimate, Options, answer

_NOT_HERE = "it is not built in, not vendored, and not in the Hub's cache here; --online asks the Hub"


class Given(NamedTuple):
    """What the project and the command line say beside the files."""

    sources: Sources = Sources()
    gpu: str | None = None
    labels: Mapping[str, str] = {}
    versions: Mapping[str, str] = {}
    typical: Typical = Typical()


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
    n_gpus = server.gpus.n_gpus
    if n_gpus is None and server.gpus.names:
        n_gpus = card.n_gpus
    estimate: Estimate | None = None
    problem = read.problem
    if problem is None and not read.blocks:
        estimate, problem = _estimate(server, read, card, given)
    return Tried(card.matched, n_gpus, estimate, card.problem or problem)


def _estimate(server: Server, read: Read, card: Card, given: Given) -> tuple[Estimate | None, str | None]:
    said = read.reading
    if said.model is None:
        return None, None
    gpus = server.gpus.n_gpus or _n_needed(said)
    try:
        options = Options(
            model=models.find(said.model.text, given.sources),
            command=read.line,
            engine=f"{said.engine}@{said.version}" if said.version else said.engine,
            gpu=card.matched.gpu if card.matched else "none",
            gpus=str(gpus) if card.matched else None,
        )
        return answer(options), None
    except KvplanError as refused:
        return None, _NOT_HERE if refused.kind == "offline" else refused.message


def _n_needed(said: Reading) -> int:
    """Of a server whose cards nobody counted, as many as it is split over."""
    return max(1, (said.tp or 1) * (said.pp or 1) * (said.dp or 1))
