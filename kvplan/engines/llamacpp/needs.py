"""What a process needs of each place: the sums of its ledger's lines, without their words."""

from collections.abc import Iterable, Iterator

from kvplan.core.ledger import Interval, exactly
from kvplan.core.remembered import Remembered
from kvplan.engines.llamacpp import entries, host
from kvplan.engines.llamacpp.devices import CPU
from kvplan.engines.llamacpp.laid import Laid

_standing: Remembered[tuple[tuple[str, Interval], ...]] = Remembered(256)


def needs(laid: Laid) -> dict[str, Interval]:
    """Bytes by place. What no context changes is summed once; with drafters and projectors all lines are made."""
    if laid.settings.drafting is not None or laid.settings.mmproj is not None:
        return _summed((entry.place, entry.size) for entry in entries.of_process(laid))
    stands = _standing.get(laid.model, (laid.frame,), lambda: _stands(laid))
    return _summed((*stands, *_moving(laid)))


def _stands(laid: Laid) -> tuple[tuple[str, Interval], ...]:
    return tuple(_summed((entry.place, entry.size) for entry in entries.standing(laid)).items())


def _moving(laid: Laid) -> Iterator[tuple[str, Interval]]:
    """Caches, graphs, and what is kept of caches."""
    frame = laid.frame
    for (_, buffer), n_bytes in laid.cached.items():
        yield frame.place(buffer), exactly(n_bytes)
    yield "host", exactly(laid.output_bytes)
    for device in laid.compute.n_bytes:
        yield "host" if device == CPU else frame.place(frame.layout.names[device]), laid.compute.interval(device)
    for buffer, copy in laid.copies.items():
        yield frame.place(buffer), Interval(0, copy.n_bytes, copy.n_bytes)
    yield "host", Interval(0, 0, host.checkpoints(laid.settings, laid.cached))


def _summed(sizes: Iterable[tuple[str, Interval]]) -> dict[str, Interval]:
    found: dict[str, Interval] = {}
    for place, size in sizes:
        found[place] = found[place].plus(size) if place in found else size
    return found
