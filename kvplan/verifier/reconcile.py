"""Estimate against measurement, term by term."""

from collections.abc import Iterator

from kvplan.core.dtypes import DTYPES
from kvplan.core.ledger import Interval, exactly, total
from kvplan.core.units import MIB
from kvplan.estimator import Estimate
from kvplan.verifier import observed
from kvplan.verifier.observed import weights as _weights
from kvplan.verifier.record import Record, Snapshot
from kvplan.verifier.term import Term

# Peaks are compared with room for what no tensor of the model accounts for: each allocation is rounded to 512 bytes, and
# attention kernels take scratch whose size no public source gives. The formulas themselves miss traces of the modeling code
# by at most 0.03 % (prefill) and 1 % (decode) of the bytes beyond the weights.
LIVE_SHARE = 0.02
LIVE_FLOOR_BYTES = 32 * MIB
# Some hundred tensors of weights and buffers, each rounded to 512 bytes.
ROUNDING_BYTES = MIB


def reconcile(estimate: Estimate, record: Record) -> tuple[Term, ...]:
    """What the run got to: weights, cache and states to the byte; on a GPU, real or not, transients, peaks and the allocator; on a
    real one what the driver sees.

    The peaks of a processor are not compared with the estimate, which is of a GPU's attention kernels, but with the process's own.
    """
    exact = tuple(_exact(estimate, record))
    if record.device.kind == "cpu":
        return (*exact, *observed.rss(record))
    on_gpu = (*_load(estimate, record), *_live(estimate, record), *_allocator(estimate, record))
    by_driver = tuple(_process(estimate, record)) if record.device.kind == "cuda" else ()
    return (*exact, *on_gpu, *observed.reserved(record), *by_driver)


def left_apart(estimate: Estimate) -> int:
    """Bytes that the estimate counts and a run of text alone never makes: keys and values of an image or another sequence."""
    layers = [(run.n_layers, mixer) for run in estimate.model.runs for mixer in run.layer.mixers]
    elements = sum(n_layers * mixer.elems_per_sequence for n_layers, mixer in layers if mixer.kind == "cross")
    return DTYPES[str(estimate.settings["kv_dtype"])].row_bytes(elements * estimate.workload.batch) if elements else 0


def _exact(estimate: Estimate, record: Record) -> Iterator[Term]:
    """What arithmetic gives: no tolerance."""
    if record.model:
        yield Term("weights", "load", _sum(estimate, "weights"), _weights(record.model), 0)
    phases = [phase for phase in (record.prefill, record.decode) if phase]
    if len(phases) == 2 or (phases and estimate.workload.decode_steps == 0):  # the fuller of two moments needs both
        kept = _less(_sum(estimate, "kv_cache"), left_apart(estimate))
        yield Term("kv_cache", "decode", kept, max(phase.kv_bytes for phase in phases), 0)
        state = max(phase.state_bytes for phase in phases)
        if state or _sum(estimate, "recurrent_state").best:
            yield Term("recurrent_state", "decode", _sum(estimate, "recurrent_state"), state, 0)


def _load(estimate: Estimate, record: Record) -> Iterator[Term]:
    """The peak while a checkpoint was loaded; random weights are made in ways of their own."""
    model, expected = record.model, estimate.phases.load_peak_bytes
    if record.job.weights is None or model is None or record.built is None or expected is None:
        return
    if record.built.peak_allocated_bytes is not None:
        others = model.buffer_bytes - model.saved_buffer_bytes
        yield Term("load_peak", "load", exactly(expected), record.built.peak_allocated_bytes - others, LIVE_FLOOR_BYTES)


def _live(estimate: Estimate, record: Record) -> Iterator[Term]:
    """Peaks of live tensors, torch's own or a trace's, less what was there before the run and belongs to no weight (buffers,
    workspaces)."""
    if record.model is None or record.loaded is None or record.loaded.allocated_bytes is None:
        return
    weights = _weights(record.model)
    others = record.loaded.allocated_bytes - weights
    phases, apart = estimate.phases, left_apart(estimate)
    highest, when = 0, ""
    for name, phase, expected in (
        ("prefill", record.prefill, phases.prefill_peak_bytes),
        ("decode", record.decode, phases.decode_peak_bytes),
    ):
        if phase and phase.memory.peak_allocated_bytes is not None and expected is not None:
            live = phase.memory.peak_allocated_bytes - others
            highest, when = max((highest, when), (live, name))
            yield Term("peak", name, exactly(expected - apart), live, _tolerance(live - weights))
    if highest and record.prefill:
        held = max(phase.kv_bytes + phase.state_bytes for phase in (record.prefill, record.decode) if phase)
        transients = highest - weights - held
        yield Term("activations", when, _sum(estimate, "activations", "logits"), transients, _tolerance(highest - weights))


def _allocator(estimate: Estimate, record: Record) -> Iterator[Term]:
    """What torch's allocator holds beside the tensors of the model: cuBLAS's workspace, and segments that are not full."""
    workspace, beside = _sum(estimate, "workspace"), beside_the_model(record)
    if beside is None:
        return
    if workspace.best:
        yield Term("workspace", "load", workspace, beside, ROUNDING_BYTES)
    back = held_back(record)
    if back is not None and _sum(estimate, "allocator").high:
        simulated = record.device.kind == "trace"  # one model beside another: no evidence, but it shows a gross error
        yield Term("allocator", "peak", _sum(estimate, "allocator"), back, max(ROUNDING_BYTES, back // 2 if simulated else 0))


def beside_the_model(record: Record) -> int | None:
    """Bytes that are allocated before the run and belong to no tensor of the model: cuBLAS's workspace."""
    model, loaded = record.model, record.loaded
    if model is None or loaded is None or loaded.allocated_bytes is None:
        return None
    return loaded.allocated_bytes - model.parameter_bytes - model.buffer_bytes


def held_back(record: Record) -> int | None:
    """Bytes that the allocator reserved and handed out to nobody, at the peak."""
    phases = [phase.memory for phase in (record.prefill, record.decode) if phase]
    reserved = [memory.peak_reserved_bytes for memory in phases if memory.peak_reserved_bytes is not None]
    allocated = [memory.peak_allocated_bytes for memory in phases if memory.peak_allocated_bytes is not None]
    return max(reserved) - max(allocated) if reserved and allocated else None


def _process(estimate: Estimate, record: Record) -> Iterator[Term]:
    """What the process takes of the device by the driver; reserved memory never shrinks by itself, so the end shows the peak."""
    last = record.decode or record.prefill
    taken = _taken(record.before, last.memory) if last else None
    contexts = outside_the_allocator(record)
    if taken is None or not contexts:
        return
    if _sum(estimate, "runtime_context").best:
        yield Term("runtime_context", "load", _sum(estimate, "runtime_context"), contexts[-1], 0)
    yield Term("total", "peak", estimate.fullest.needed, taken, 0)


def outside_the_allocator(record: Record) -> list[int]:
    """Bytes of the process that torch's allocator did not reserve, its context: when loaded, after each phase, as far as known."""
    moments = [record.loaded, *(phase.memory for phase in (record.prefill, record.decode) if phase)]
    pairs = [(_taken(record.before, moment), moment.reserved_bytes) for moment in moments if moment]
    return [taken - reserved for taken, reserved in pairs if taken is not None and reserved is not None]


def _taken(before: Snapshot, after: Snapshot) -> int | None:
    """The driver's figure for this process, else what the device's use grew by (in a container process ids may not match)."""
    if after.process_bytes is not None:
        return after.process_bytes
    if after.device_used_bytes is None or before.device_used_bytes is None:
        return None
    return after.device_used_bytes - before.device_used_bytes


def _less(size: Interval, n_bytes: int) -> Interval:
    return Interval(size.low - n_bytes, size.best - n_bytes, size.high - n_bytes)


def _tolerance(beyond_weights: int) -> int:
    return max(LIVE_FLOOR_BYTES, int(LIVE_SHARE * beyond_weights))


def _sum(estimate: Estimate, *terms: str) -> Interval:
    return total(entry.size for entry in estimate.entries if entry.term in terms)
