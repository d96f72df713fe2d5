"""How fast a deployment is: hands ``perf`` what its engine, its cards and its places say."""

from collections.abc import Iterable
from typing import NamedTuple

from kvplan import perf
from kvplan.core.device import Gpu, Node
from kvplan.core.dtypes import dtype
from kvplan.core.engine import Deployment, Engine
from kvplan.core.errors import RequestError
from kvplan.core.ledger import Verdict
from kvplan.core.model import ModelSpec
from kvplan.core.pace import Held, Pace
from kvplan.core.remembered import Remembered
from kvplan.core.workload import Workload
from kvplan.estimator import inverse
from kvplan.estimator.answer import Estimate
from kvplan.estimator.rates import link, main_dtype, memory, peaks
from kvplan.perf.traffic import Shape, traffic

_ON_HOST = 0.02
"""Of the weights, beside the embedding: more on the host, and each step waits for memory of which nobody said how fast it is."""

WHOLE_PROMPT = 2**31
MOST_READY = 512


class Prepared(NamedTuple):
    """What no workload changes; ``at`` is what sweeps call."""

    pace: Pace
    traffic: perf.Traffic
    machine: perf.Machine

    def at(self, load: Workload, batch: int, *, cached_tokens: int = 0) -> perf.Performance:
        """The speed with ``batch`` sequences of this load running at once in each replica; ``cached_tokens`` of each prompt are shared."""
        return perf.performance(self.traffic, self.machine, self._demand(load, batch, cached_tokens), self.pace.engine)

    def rate(self, load: Workload, batch: int) -> perf.Range:
        """Tokens per second of that alone: what tables of many points show."""
        return perf.rate(self.traffic, self.machine, self._demand(load, batch, 0), self.pace.engine)

    def _demand(self, load: Workload, batch: int, cached_tokens: int) -> perf.Demand:
        return perf.Demand(
            batch=batch,
            prompt_tokens=load.prompt_tokens,
            output_tokens=max(1, load.decode_steps),
            cached_tokens=cached_tokens,
            chunk_tokens=self.pace.chunk_tokens or WHOLE_PROMPT,
            eager_scores=self.pace.eager_scores,
            together=self.pace.together,
        )


_prepared_ones: Remembered[Prepared | None] = Remembered(MOST_READY)
_traffics: Remembered[perf.Traffic] = Remembered(MOST_READY)
_main_dtypes: Remembered[str] = Remembered(MOST_READY)
_ready: dict[int, tuple[Deployment, Prepared | None]] = {}


def of(found: Estimate, engine: Engine[object], settings: object, deployment: Deployment) -> perf.Performance | None:
    """The speed of what was asked for, with as many sequences at once as run; None where none does, or too little is known."""
    ready = None if found.refusals else ready_for(engine, settings, deployment, found.model, found.node)
    if ready is None:
        return None
    batch = running(deployment, found.node, found.workload, found.verdict, engine.limits(settings)[1])
    return ready.at(found.workload, batch) if batch else None


def ready_for(engine: Engine[object], settings: object, deployment: Deployment, model: ModelSpec, node: Node) -> Prepared | None:
    """``prepared``, once for each deployment."""
    key = id(deployment)  # which the deployment beside it keeps taken
    if key not in _ready:
        if len(_ready) >= MOST_READY:
            _ready.clear()
        _ready[key] = deployment, prepared(engine, settings, deployment, model, node)
    return _ready[key][1]


def running(deployment: Deployment, node: Node, load: Workload, verdict: Verdict, limit: int | None) -> int:
    """Sequences that run at once: as many as asked for, as the engine takes, as its pool holds."""
    asked = min(load.batch, limit or load.batch)
    if verdict != "does_not_fit":
        return asked
    capacity = deployment.capacity(load)
    if capacity is None or capacity.n_blocks is None:
        return 0
    return inverse.at_once(deployment, node, load._replace(batch=asked))


def prepared(engine: Engine[object], settings: object, deployment: Deployment, model: ModelSpec, node: Node) -> Prepared | None:
    """The deployment's speed but for the workload; None where the hardware or the way it runs is not known well enough."""
    pace = engine.pace(settings, model)
    if pace is None or not node.gpus:
        return None
    held = deployment.held()
    return _prepared_ones.get(model, (pace, held, node), lambda: _prepared(pace, held, model, node))


def _prepared(pace: Pace, held: Held, model: ModelSpec, node: Node) -> Prepared | None:
    """What deployments of equal pace have in common, however long their contexts are."""
    weights = dict(held.weights)
    if _listens(model) or _waits(weights, model, pace, node):
        return None
    machine = _machine(model, pace, _used(node, pace, weights))
    if machine is None:
        return None
    shape = _shape(model, pace, held)
    return Prepared(pace, _traffics.get(model, (shape,), lambda: traffic(model, shape)), machine)


def _listens(model: ModelSpec) -> bool:
    """Whether it attends to an encoder's output, whose pass and whose reading in each step are not modeled."""
    return any(mixer.kind == "cross" for run in model.runs for mixer in run.layer.mixers)


def _waits(held: dict[str, int], model: ModelSpec, pace: Pace, node: Node) -> bool:
    """Whether steps wait for weights on the host; on shared memory for those that it does not hold, and a disk does."""
    if all(gpu.unified for gpu in node.gpus):
        return sum(held.values()) > sum(gpu.driver_bytes for gpu in node.gpus)
    embedding = sum(group.run_bytes(pace.dtype or model.stored_dtype) for group in model.weights if group.role == "embedding")
    return held.get("host", 0) - embedding > _ON_HOST * sum(held.values())


def _used(node: Node, pace: Pace, held: dict[str, int]) -> list[tuple[Gpu, int]]:
    """The cards of a replica, with the weights on each."""
    gpus = [(gpu, held.get(f"gpu{i}", 0)) for i, gpu in enumerate(node.gpus)]
    return [(gpu, n_bytes) for gpu, n_bytes in gpus if n_bytes][: pace.tp * pace.pp] or gpus[:1]


def _machine(model: ModelSpec, pace: Pace, used: list[tuple[Gpu, int]]) -> perf.Machine | None:
    """The slowest card where all share each layer; where they follow each other, the mean by what each has to read."""
    mean = _slowest if pace.tp > 1 else _in_turn
    main = _main_dtypes.get(model, (pace.linear,), lambda: main_dtype(model, pace.linear))
    sizes = [n_bytes for _, n_bytes in used]
    rates = [(gpu.bandwidth_gb_s or 0.0, *peaks(gpu, main, pace.engine)) for gpu, _ in used]
    if not all(all(rate) for rate in rates):
        return None
    bandwidth, plain, products = (mean(list(zip(column, sizes, strict=True))) for column in zip(*rates, strict=True))
    first = used[0][0]
    return perf.Machine(
        memory=memory(first),
        bandwidth=bandwidth * 1e9,
        flops=plain * 1e12,
        product_flops=products * 1e12,
        link_bandwidth=link(first.interconnect),
        tp=pace.tp,
        pp=min(pace.pp, len(used)),
        dp=pace.dp,
    )


def _slowest(rates: Iterable[tuple[float, int]]) -> float:
    return min(rate for rate, _ in rates)


def _in_turn(rates: list[tuple[float, int]]) -> float:
    return sum(max(1, n) for _, n in rates) / sum(max(1, n) / rate for rate, n in rates)


def _shape(model: ModelSpec, pace: Pace, held: Held) -> Shape:
    return Shape(
        pace.dtype or model.stored_dtype,
        _elem_bytes(held.k_dtype),
        _elem_bytes(held.v_dtype),
        tp=pace.tp,
        linear=pace.linear,
        unpacks=pace.unpacks,
    )


def _elem_bytes(name: str) -> float:
    """Bytes of a cached element; engines have types of their own, which are of 8 bits unless they say otherwise."""
    try:
        found = dtype(name)
    except RequestError:
        return 0.5 if "4" in name else 1.0
    return found.block_bytes / found.block_elems
