"""The smallest nodes of the catalogue on which a workload fits."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from kvplan.core.device import UNKNOWN_NODE, Gpu, Node
from kvplan.core.engine import Deployment
from kvplan.core.ledger import Entry, Interval
from kvplan.core.workload import Workload
from kvplan.estimator import inverse
from kvplan.estimator.answer import Candidate, Estimate

SIZES = (1, 2, 4, 8)
MOST = 3
_KEPT_ANYWHERE = ("weights", "kv_cache", "recurrent_state")  # the rest depends on the GPU

_STREAMS = "KV343"
"""Weights that wait on the host: the cards hold the rest, and every step waits for them."""

Deploy = Callable[[Node], Deployment | None]
"""The deployment on a node; None where the engine, as asked, does not use all of its cards."""


def n_devices(shown: Mapping[str, object]) -> int:
    """Over how many cards these settings spread the model."""
    return math.prod(ways for key in ("tp", "pp", "dp", "pcp", "devices") if isinstance(ways := shown.get(key), int))


class Tried(NamedTuple):
    """A deployment on so many of a card, whether a workload is too much for some of them, and by how much it misses what is there."""

    deployment: Deployment
    lacks: Callable[[Workload], bool]
    short: Callable[[Workload], Interval]


class Stock:
    """Nodes with what is deployed on them, made when first asked for and kept for other workloads."""

    def __init__(self, deploy: Deploy) -> None:
        """Nothing yet."""
        self.deploy = deploy
        self._tried: dict[tuple[int, str], Tried | None] = {}

    def at(self, n: int, gpu: Gpu) -> Tried | None:
        """``n`` cards ``gpu``; None where the engine does not use all of them."""
        key = n, gpu.id
        if key not in self._tried:
            node = Node(id=gpu.id, source="flag", gpus=(gpu,) * n)
            deployment = self.deploy(node)
            self._tried[key] = (
                None if deployment is None else Tried(deployment, inverse.lack(deployment, node), inverse.shortage(deployment, node))
            )
        return self._tried[key]


def fits_on(stock: Stock, gpus: tuple[Gpu, ...], found: Estimate) -> tuple[Candidate, ...]:
    """Up to three nodes on which the workload fits for certain and that the engine takes: single cards, then two, four or eight equal
    ones, those of the least memory first. ``gpus`` are sorted by size."""
    anywhere = stock.deploy(UNKNOWN_NODE) if found.refusals else None
    if anywhere is not None and anywhere.refusals:  # no card cures that
        return ()
    if gpus and found.fullest.place.id == "host" and _leaves_alone(stock, gpus[0], found):
        return ()
    return tuple(islice(_Search(stock, found).fitting(_by_size(gpus)), MOST))


def _by_size(gpus: tuple[Gpu, ...]) -> Iterator[tuple[int, Gpu]]:
    for gpu in gpus:
        yield 1, gpu
    yield from sorted(((n, gpu) for n in SIZES[1:] for gpu in gpus), key=lambda node: node[0] * node[1].cuda_bytes)


def _leaves_alone(stock: Stock, gpu: Gpu, found: Estimate) -> bool:
    """Whether what was asked for runs on the host, whatever card there is."""
    tried = stock.at(1, gpu)
    return tried is not None and tried.deployment.need_bytes("gpu0", found.workload).high == 0


class _Search:
    """Tries nodes, and learns from the first of so many cards what each of those must hold at least."""

    def __init__(self, stock: Stock, found: Estimate) -> None:
        self._stock, self._load = stock, found.workload
        ways, here = n_devices(found.settings), found.fullest
        kept = _kept(here.needed.low, [entry for entry in found.entries if entry.listed])
        self._least = {n: kept * min(ways, n) // n for n in SIZES}  # more ranks divide a card's share at best evenly
        self._known = {ways}

    def fitting(self, nodes: Iterable[tuple[int, Gpu]]) -> Iterator[Candidate]:
        """Those of ``nodes`` (how many of which card) that do."""
        for n, gpu in nodes:
            if gpu.cuda_bytes >= self._least.get(n, gpu.cuda_bytes + 1):
                yield from self._tried(n, gpu)

    def _tried(self, n: int, gpu: Gpu) -> Iterator[Candidate]:
        tried = self._stock.at(n, gpu)
        if tried is None:
            del self._least[n]
            return
        if tried.lacks(self._load):
            self._learn(n, tried.deployment)
        elif not tried.deployment.refusals and all(finding.rule != _STREAMS for finding in tried.deployment.findings):
            yield Candidate(gpu.id, n, -tried.short(self._load).best)

    def _learn(self, n: int, deployment: Deployment) -> None:
        if n in self._known:
            return
        self._known.add(n)
        entries = [entry for entry in deployment.entries(self._load) if entry.place == "gpu0"]
        self._least[n] = max(self._least[n], _kept(deployment.need_bytes("gpu0", self._load).low, entries))


def _kept(needed: int, entries: Iterable[Entry]) -> int:
    """What of the bytes needed on a card any other has to hold, too."""
    return needed - sum(entry.size.low for entry in entries if entry.term not in _KEPT_ANYWHERE)
