"""What a run or a trace tells by itself, with no estimate beside it."""

from collections.abc import Iterator

from kvplan.core.ledger import Interval
from kvplan.core.units import MIB
from kvplan.verifier.record import Built, Phase, Record
from kvplan.verifier.term import Term

RSS_SHARE = 0.25
RSS_FLOOR_BYTES = 256 * MIB
"""How far the process may have grown from the tensors that were followed: kernels pack operands and keep threads' scratch (in
traces of small models up to 9 % more), the C library keeps what was freed. Room enough to never fail by chance, and to fail where
tensors are missed."""


def reserved(record: Record) -> Iterator[Term]:
    """What the caching allocator held at the peak of each phase; of a trace also what expandable segments would have held."""
    for name, phase in phases(record):
        if phase.memory.peak_reserved_bytes is not None:
            yield Term("reserved", name, None, phase.memory.peak_reserved_bytes, 0)
    for name, phase in phases(record):
        if phase.memory.peak_expandable_bytes is not None:
            yield Term("reserved_expandable", name, None, phase.memory.peak_expandable_bytes, 0)


def alone(record: Record) -> Iterator[Term]:
    """Everything, where nothing could be estimated."""
    model, loaded = record.model, record.loaded
    if model is None or loaded is None or loaded.allocated_bytes is None:
        return
    yield Term("weights", "load", None, weights(model), 0)
    held = [phase for _, phase in phases(record)]
    if held:
        yield Term("kv_cache", "decode", None, max(phase.kv_bytes for phase in held), 0)
        if state := max(phase.state_bytes for phase in held):
            yield Term("recurrent_state", "decode", None, state, 0)
    beside = loaded.allocated_bytes - weights(model)
    for name, phase in phases(record):
        if phase.memory.peak_allocated_bytes is not None:
            yield Term("peak", name, None, phase.memory.peak_allocated_bytes - beside, 0)
    if beside > model.buffer_bytes - model.saved_buffer_bytes:
        yield Term("workspace", "load", None, beside - model.buffer_bytes + model.saved_buffer_bytes, 0)
    yield from reserved(record)


def rss(record: Record) -> Iterator[Term]:
    """By how much the process grew on the CPU, where the bytes of live tensors stand for the estimate."""
    before = record.before.process_bytes
    for name, phase in phases(record):
        grown, live = phase.memory.peak_process_bytes, phase.memory.peak_allocated_bytes
        if before is not None and grown is not None and live is not None:
            yield Term("rss", name, Interval(live, live, live), grown - before, max(RSS_FLOOR_BYTES, int(RSS_SHARE * live)))


def peak(record: Record) -> int | None:
    """The highest of both phases, in bytes of live tensors with weights and cache; None where none was reached."""
    peaks = [phase.memory.peak_allocated_bytes for _, phase in phases(record)]
    return max((n_bytes for n_bytes in peaks if n_bytes is not None), default=None)


def phases(record: Record) -> list[tuple[str, Phase]]:
    """The phases that were reached, by name."""
    return [(name, phase) for name, phase in (("prefill", record.prefill), ("decode", record.decode)) if phase]


def weights(model: Built) -> int:
    """What a checkpoint holds: parameters, and buffers that are saved with them (a router's bias that training balances)."""
    return model.parameter_bytes + model.saved_buffer_bytes
