"""The exact inverses of an estimate: the largest context and batch that still fit, and the smallest node that does."""

from collections.abc import Callable, Iterable

from kvplan.core.device import Gpu, Node
from kvplan.core.engine import Capacity, Deployment
from kvplan.core.ledger import Interval, Verdict
from kvplan.core.units import MAX_COUNT
from kvplan.core.workload import Workload
from kvplan.estimator.answer import Candidate


def verdict(usable_bytes: int | None, needed: Interval) -> Verdict:
    """``fits`` when even the upper bound does, ``does_not_fit`` when the best guess doesn't, ``tight`` between."""
    if usable_bytes is None:
        return "unknown"
    if needed.best > usable_bytes:
        return "does_not_fit"
    return "fits" if needed.high <= usable_bytes else "tight"


def capacity(deployment: Deployment, node: Node, load: Workload, limit: int | None) -> Capacity | None:
    """The engine's own capacity, else what of context and batch fits this node for certain; None without a node.

    ``limit`` is the model's position limit.
    """
    own = deployment.capacity(load)
    if own is not None or not node.gpus:
        return own
    ctx = largest(lambda n: _fits(deployment, node, _at_ctx(load, n)), guess=load.ctx_tokens, most=limit or MAX_COUNT)
    batch = largest(lambda n: _fits(deployment, node, load._replace(batch=n)), guess=load.batch, most=MAX_COUNT)
    return Capacity(None, None, None, None, None, None, max_ctx_tokens=ctx, max_batch=batch)


def _at_ctx(load: Workload, ctx_tokens: int) -> Workload:
    """The workload at another context, with the same number of decode steps as far as there is room for them."""
    return Workload(ctx_tokens, load.batch, max(1, ctx_tokens - load.decode_steps))


def _fits(deployment: Deployment, node: Node, load: Workload) -> bool:
    return all(
        place.usable_bytes is not None and deployment.need_bytes(place.id, load).high <= place.usable_bytes for place in node.places()
    )


def largest(ok: Callable[[int], bool], *, guess: int, most: int) -> int:
    """The largest n from 1 to ``most`` for which ``ok`` holds, 0 if none; ``ok`` must not hold again once it fails.

    Gallops away from ``guess``, then halves: few calls when the answer is near it.
    """
    guess = min(guess, most)
    low, high, step = 0, most + 1, max(1, guess)
    if ok(guess):
        low = guess
        while low < most:
            probe = min(most, low + step)
            if not ok(probe):
                high = probe
                break
            low, step = probe, step * 2
    else:
        high = guess
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ok(middle) else (low, middle)
    return low


def fits_on(deploy: Callable[[Node], Deployment], gpus: Iterable[Gpu], load: Workload, *, most: int = 3) -> tuple[Candidate, ...]:
    """The first ``most`` of ``gpus`` (smallest first) on one of which the workload fits for certain."""
    found: list[Candidate] = []
    for gpu in gpus:
        node = Node(id=gpu.id, source="flag", gpus=(gpu,))
        deployment = deploy(node)
        if _fits(deployment, node, load):
            needed = deployment.need_bytes("gpu0", load).best
            found.append(Candidate(gpu.id, 1, gpu.cuda_bytes - needed))
            if len(found) == most:
                break
    return tuple(found)
