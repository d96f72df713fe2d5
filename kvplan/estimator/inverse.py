"""The exact inverses of an estimate: the largest context and batch that still fit."""

from collections.abc import Callable
from itertools import count

from kvplan.core.device import Node, Place
from kvplan.core.engine import Capacity, Deployment
from kvplan.core.ledger import Entry, Interval, Verdict
from kvplan.core.remembered import Remembered
from kvplan.core.units import MAX_COUNT
from kvplan.core.workload import Workload

FROM_WORST: tuple[Verdict, ...] = ("does_not_fit", "tight", "unknown", "fits")


def verdict(usable_bytes: int | None, needed: Interval) -> Verdict:
    """``fits`` when even the upper bound does, ``does_not_fit`` when the best guess doesn't, ``tight`` between."""
    if usable_bytes is None:
        return "unknown"
    if needed.best > usable_bytes:
        return "does_not_fit"
    return "fits" if needed.high <= usable_bytes else "tight"


def pressing(usable_bytes: int | None, needed: Interval, verdict: Verdict) -> tuple[int, int, int]:
    """Sorts places: the least is the one that decides whether a workload fits."""
    left = 0 if usable_bytes is None else usable_bytes - needed.best
    return FROM_WORST.index(verdict), left, -needed.best


def usable_bytes(deployment: Deployment, place: Place) -> int | None:
    """What this engine may use of a place; None where nobody said how large that is."""
    own = deployment.usable_bytes(place.id)
    return place.usable_bytes if own is None else own


def places(node: Node, entries: tuple[Entry, ...]) -> tuple[Place, ...]:
    """The node's places, and the host where something lies there; without a known GPU and anything on one, the host alone."""
    found, used = node.places(), {entry.place for entry in entries}
    if "host" in used and all(place.id != "host" for place in found):
        found = (*found, Place("host", None))
    return found if node.gpus or "host" not in used else tuple(place for place in found if place.id in used)


def capacity(deployment: Deployment, node: Node, load: Workload, limit: int | None) -> Capacity | None:
    """The engine's own capacity, else what of context and batch fits this node for certain; None without a node.

    ``limit`` is the model's position limit.
    """
    own = deployment.capacity(load)
    if own is not None or not node.gpus:
        return own
    short = shortage(deployment, node)
    nothing = _limits.get(deployment, (node, "nothing"), lambda: short(Workload(1, 1, 1)).high)

    def longest() -> int:
        return largest(lambda n: short(_at_ctx(load, n)).high, guess=load.ctx_tokens, most=limit or MAX_COUNT, nothing=nothing)

    def widest() -> int:
        return largest(lambda n: short(load._replace(batch=n)).high, guess=load.batch, most=MAX_COUNT, nothing=nothing)

    ctx = _limits.get(deployment, (node, "ctx", load.batch, load.decode_steps), longest)
    batch = _limits.get(deployment, (node, "batch", load.ctx_tokens, load.prompt_tokens), widest)
    return Capacity(None, None, None, None, None, None, max_ctx_tokens=ctx, max_batch=batch)


_limits: Remembered[int] = Remembered(4096)
"""Many requests ask for the same: those of one batch reach the same context."""


def at_once(deployment: Deployment, node: Node, load: Workload) -> int:
    """Sequences of this load that probably fit at once."""
    short = shortage(deployment, node)
    return largest(lambda n: short(load._replace(batch=n)).best, guess=load.batch, most=load.batch)


def shortage(deployment: Deployment, node: Node) -> Callable[[Workload], Interval]:
    """Bytes by which the poorest place of the node misses what a workload needs; it fits for certain where ``high`` is up to 0."""
    places = [(place.id, usable_bytes(deployment, place) or 0) for place in node.places()]

    def short(load: Workload) -> Interval:
        needs = [(deployment.need_bytes(place, load), usable) for place, usable in places]
        if len(needs) == 1:  # the hot path
            (low, best, high), usable = needs[0]
            return Interval(low - usable, best - usable, high - usable)
        return Interval(*(max(need[bound] - usable for need, usable in needs) for bound in range(3)))

    return short


def lack(deployment: Deployment, node: Node) -> Callable[[Workload], bool]:
    """Whether some place of the node can't be said to hold a workload for certain; looks no further than the first such place."""
    places = [(place.id, usable_bytes(deployment, place) or 0) for place in node.places()]
    return lambda load: any(deployment.need_bytes(place, load).high > usable for place, usable in places)


def _at_ctx(load: Workload, ctx_tokens: int) -> Workload:
    """The workload at another context, with the same number of decode steps as far as there is room for them."""
    return Workload(ctx_tokens, load.batch, max(1, ctx_tokens - load.decode_steps))


def largest(short: Callable[[int], int], *, guess: int, most: int, nothing: int | None = None) -> int:
    """The largest n from 1 to ``most`` with ``short(n) <= 0``, 0 if none; ``short`` must never fall as n grows.

    Follows the line through the last two points, as memory is nearly linear in both context and batch; halves the
    bracket where that does not help. Few calls: each one is a whole estimate. ``nothing`` is about what 0 would have.
    """
    low, high = 0, most + 1
    last = None if nothing is None else (0, nothing)
    n = min(guess, most)
    for step in count():
        missing = short(n)
        low, high = (n, high) if missing <= 0 else (low, n)
        if high - low == 1:
            break
        n, last = _next(n, missing, last, halve=step > _PATIENCE or step % 4 == 3, bracket=(low, high)), (n, missing)
    return low


_PATIENCE = 12  # looks after which halving alone decides: the line has then met a kink that it can't follow


def _next(n: int, missing: int, last: tuple[int, int] | None, *, halve: bool, bracket: tuple[int, int]) -> int:
    """Where to look next, strictly inside the bracket."""
    low, high = bracket
    if halve:
        return (low + high) // 2
    if last is None:
        proposed = 2 * n if missing <= 0 else n // 2
    elif missing == last[1]:
        proposed = (low + high) // 2
    else:
        proposed = n - missing * (n - last[0]) // (missing - last[1])
    return min(max(proposed, low + 1), high - 1)
