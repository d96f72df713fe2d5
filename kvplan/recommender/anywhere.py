"""``--gpu any``: the smallest nodes of the catalogue that serve, or the cheapest of those that have a price."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.core.device import Gpu
from kvplan.core.errors import KvplanError
from kvplan.core.mixers import Mixer
from kvplan.core.units import parse_count
from kvplan.estimator import Options, engines, on_paper
from kvplan.estimator.loading import loaded
from kvplan.estimator.nodes import SIZES
from kvplan.hardware import catalog
from kvplan.recommender.asking import LEAST_CTX, Asked, cases
from kvplan.recommender.case import Case
from kvplan.recommender.request import Request
from kvplan.recommender.search import settled
from kvplan.recommender.trial import Bench, holds

SERVER = "vllm"
"""What is run on rented cards where nobody says otherwise."""
_EACH, _MOST = 2, 5
_LEAST_BITS = 3.5  # of the smallest type that is proposed, with what it leaves in more
_LEAST_CACHE_BITS = 4
_OLDEST = (7, 5)


class Place(NamedTuple):
    """A node that serves, with what was asked of it; ``price`` is that of an hour of all its cards, ``headroom_bytes`` what is left with
    the weights in ``form``, "" for the best there is."""

    gpu: Gpu
    n_gpus: int
    asked: Asked
    price: float | None
    headroom_bytes: int
    form: str


def places(request: Request, most: int = _MOST) -> tuple[Place, ...]:
    """Up to ``most`` nodes on which something fits, the smallest first: two for each way in which the weights may lie. With prices, every
    node that has one and serves, the cheapest hour first."""
    prices = dict(request.prices)
    nodes = _by_size(request, prices)
    if prices:
        found = (place for n, gpu in nodes for place in _served(request, n, gpu, prices[gpu.id]))
        return tuple(sorted(found, key=lambda place: place.price or 0))
    chosen: dict[str, list[Place]] = {}
    for n, gpu in nodes:
        for place in _served(request, n, gpu, None):
            same = chosen.setdefault(place.form, [])
            same += [place] if len(same) < _EACH else []
        if sum(map(len, chosen.values())) >= most or len(chosen.get("", ())) >= _EACH:
            break
    return tuple(place for same in chosen.values() for place in same)[:most]


def _by_size(request: Request, prices: dict[str, float]) -> Iterator[tuple[int, Gpu]]:
    """One, two, four or eight equal cards that could hold weights and caches at all, those of the least memory first."""
    least = _least_bytes(request.options)
    cards = [catalog.find(gpu_id) for gpu_id in prices] or [gpu for gpu in catalog.candidates(0) if _is_usual(gpu)]
    nodes = ((n, gpu) for n in SIZES for gpu in cards if n * gpu.cuda_bytes > least)
    yield from sorted(nodes, key=lambda node: (node[0] * node[1].cuda_bytes, node[0]))


def _least_bytes(options: Options) -> float:
    """What no node can do without: all weights in the smallest type, and the tokens of all sequences in the smallest cache."""
    model = loaded(on_paper.parted(options.model or engines.asked(options)[2].model or "")[0])
    usual = 1 if options.command else min(LEAST_CTX, model.max_ctx_tokens or LEAST_CTX)
    ctx = usual if options.ctx is None else parse_count(options.ctx, option="--ctx")
    sequences = 1 if options.batch is None else parse_count(options.batch, option="--concurrency")
    kept = sum(run.n_layers * _kept(mixer, ctx) for run in model.runs if run.layer.kv_source is None for mixer in run.layer.mixers)
    return (model.n_params * _LEAST_BITS + sequences * kept * _LEAST_CACHE_BITS) / 8


def _kept(mixer: Mixer, ctx_tokens: int) -> int:
    """Elements of a layer's cache; states are the least of it."""
    match mixer.kind:
        case "full" | "sliding" | "chunked" | "mla" | "compressed":
            return mixer.kept_tokens(ctx_tokens) * mixer.elems_per_token
        case _:
            return 0


def _is_usual(gpu: Gpu) -> bool:
    """Cards that the usual servers still run on."""
    return gpu.vendor == "AMD" or (gpu.compute_capability is not None and gpu.compute_capability >= _OLDEST)


def _is_gguf(request: Request) -> bool:
    checkpoint = loaded(on_paper.parted(request.options.model or "")[0]).checkpoint
    return checkpoint is not None and checkpoint.format == "gguf"


def _served(request: Request, n: int, gpu: Gpu, price: float | None) -> Iterator[Place]:
    """The node, where a form of the weights fits: with the first that does."""
    options = request.options._replace(gpu=f"{gpu.id}:{n}" if n > 1 else gpu.id)
    if not options.command and options.engine is None and not _is_gguf(request):
        options = options._replace(engine=SERVER)
    try:
        asked = cases(request._replace(options=options))
    except KvplanError:  # a command that this node can't run
        return
    case = asked.cases[0]
    best = _best_form(case, n)
    if best is not None:
        form, left = best
        yield Place(gpu, n, Asked(asked.cases[:1], asked.why_engine), price and price * n, left, form)


def _best_form(case: Case, n: int) -> tuple[str, int] | None:
    """The first form that fits when the model is spread over all cards, "" for the best there is, and what it leaves; None if none does."""
    bench = Bench(case)
    free = case.dialect.engine == SERVER and case.may_turn("tp") and case.start.cards == 1
    spread = case.start._replace(tp=n, pp=1) if free else case.start
    names = [form.name for form in case.forms] if case.may_turn("weights") else [spread.weights]
    for name in names:
        trial = settled(bench, spread._replace(weights=name))
        if holds(bench, trial):
            return "" if name == names[0] else name, -trial.short_bytes
    return None
