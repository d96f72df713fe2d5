"""What a process needs of each place: the sums of its ledger's lines, without their words."""

from collections.abc import Iterable

from kvplan.core.ledger import Interval
from kvplan.core.remembered import Remembered
from kvplan.engines.llamacpp import entries, host
from kvplan.engines.llamacpp.devices import CPU
from kvplan.engines.llamacpp.laid import Laid

_standing: Remembered[dict[str, Interval]] = Remembered(256)


def needs(laid: Laid) -> dict[str, Interval]:
    """Bytes by place. What no context changes is summed once; with drafters and projectors all lines are made."""
    if laid.settings.drafting is not None or laid.settings.mmproj is not None:
        return _summed((entry.place, entry.size) for entry in entries.of_process(laid))
    stands = _standing.get(laid.model, (laid.frame,), lambda: _summed((entry.place, entry.size) for entry in entries.standing(laid)))
    return _with_moving(laid, {place: [*size] for place, size in stands.items()})


def _with_moving(laid: Laid, sums: dict[str, list[int]]) -> dict[str, Interval]:
    """``sums`` (low, best, high) with caches, graphs, and what is kept of caches."""
    frame, reserved = laid.frame, laid.compute
    nothing = 0, 0, 0
    below, above = 100 - reserved.spread[0], 100 + reserved.spread[1]
    for (_, buffer), n_bytes in laid.cached.items():
        place = frame.place(buffer)
        low, best, high = sums.get(place, nothing)
        sums[place] = [low + n_bytes, best + n_bytes, high + n_bytes]
    for device, n_bytes in reserved.n_bytes.items():
        place = "host" if device == CPU else frame.place(frame.layout.names[device])
        low, best, high = sums.get(place, nothing)
        sums[place] = [low + n_bytes * below // 100, best + n_bytes, high + n_bytes * above // 100]
    for buffer, copy in laid.copies.items():
        place = frame.place(buffer)
        low, best, high = sums.get(place, nothing)
        sums[place] = [low, best + copy.n_bytes, high + copy.n_bytes]
    low, best, high = sums.get("host", nothing)
    rows, kept = laid.output_bytes, host.checkpoints(laid.settings, laid.cached)
    sums["host"] = [low + rows, best + rows, high + rows + kept]
    return {place: Interval(*size) for place, size in sums.items()}


def _summed(sizes: Iterable[tuple[str, Interval]]) -> dict[str, Interval]:
    found: dict[str, Interval] = {}
    for place, size in sizes:
        found[place] = found[place].plus(size) if place in found else size
    return found
