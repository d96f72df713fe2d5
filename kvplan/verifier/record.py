"""What a measuring process is asked and what it answers; the standard library alone, because it runs beside torch only."""

from collections.abc import Callable
from typing import Any, NamedTuple

from kvplan.verifier import timings
from kvplan.verifier.timings import Timings


class Job(NamedTuple):
    """One run to measure: the model of ``config`` with random weights, a prefill of ``prompt_tokens``, then decode to ``ctx_tokens``.

    ``device`` is ``cuda``, ``cpu`` or ``trace``; ``attn``, ``cache`` and ``forward`` are those of the Transformers engine. A model
    whose parameters take more than ``max_bytes`` (None: the memory that is free) is refused before anything is allocated.

    Without ``use_cache`` each decode step runs all tokens again. The first pass counts memory; ``n_repeats`` more are timed after
    ``n_warmup`` that nobody timed, the first one among them. Where ``padded``, half of the
    first sequence is padding on its left. ``weights`` is the folder of a checkpoint to load instead.
    ``gpu`` and ``capability`` are the name and compute capability (``9.0``) of the GPU to pretend in a trace.
    """

    id: str
    config: dict[str, object]
    dtype: str
    ctx_tokens: int
    batch: int
    prompt_tokens: int
    device: str = "cuda"
    attn: str = "sdpa"
    cache: str = "dynamic"
    forward: str = "generate"
    max_bytes: int | None = None
    use_cache: bool = True
    n_warmup: int = 1
    n_repeats: int = 0
    padded: bool = False
    weights: str | None = None
    gpu: str | None = None
    capability: str | None = None


class Snapshot(NamedTuple):
    """Memory at one moment, None where nobody tells.

    The first four are those of torch's caching allocator, peaks since the phase began; on the CPU and in a trace the first two
    are the bytes of live tensors, each storage once, as operators make them and let go of them. A trace of a GPU follows both
    allocators of torch: ``peak_expandable_bytes`` is what expandable segments would have reserved. ``process_bytes`` and
    ``device_used_bytes`` are the driver's (what it reserves for itself not counted), ``free_bytes`` is CUDA's; on the CPU the
    process's resident bytes, and their peak, are the kernel's.
    """

    allocated_bytes: int | None = None
    peak_allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    peak_reserved_bytes: int | None = None
    process_bytes: int | None = None
    device_used_bytes: int | None = None
    free_bytes: int | None = None
    peak_expandable_bytes: int | None = None
    peak_process_bytes: int | None = None


class Built(NamedTuple):
    """The model as Transformers built it; distinct parameters, tied ones once. ``attn`` is the attention that it chose.

    ``saved_buffer_bytes`` are those of the buffers that a checkpoint holds, like weights.
    """

    architecture: str
    attn: str
    n_params: int
    parameter_bytes: int
    buffer_bytes: int
    seconds: float
    saved_buffer_bytes: int = 0


class Phase(NamedTuple):
    """A prefill (one step) or the decode steps after it: memory at its end, peaks within it.

    ``kv_bytes`` and ``state_bytes`` are what the cache's tensors hold at the end, views counted as the storage behind them.
    ``kernels`` are those that a trace's attention took.
    """

    n_steps: int
    seconds: float
    kv_bytes: int
    state_bytes: int
    memory: Snapshot
    kernels: str | None = None


class Device(NamedTuple):
    """Where it ran; the totals as CUDA and as the driver tell them."""

    kind: str
    name: str
    compute_capability: str | None
    cuda_total_bytes: int | None
    driver_total_bytes: int | None


class Record(NamedTuple):
    """The answer. ``outcome`` is ``ran``, ``oom``, ``refused`` (too large, or other weights) or ``failed``; what was not reached is
    None. ``built`` is the memory when the model was made or loaded, its peak that of the loading; ``loaded`` is it before the run.
    """

    job: Job
    outcome: str
    error: str | None
    taken_at: str
    versions: dict[str, str | None]
    device: Device
    before: Snapshot
    model: Built | None = None
    loaded: Snapshot | None = None
    prefill: Phase | None = None
    decode: Phase | None = None
    timings: Timings | None = None
    built: Snapshot | None = None


def to_json(record: Record) -> dict[str, object]:
    """The record as JSON values."""
    return {key: plain(value) for key, value in record._asdict().items()}


def plain(value: object) -> object:
    """A named tuple as a mapping, at any depth."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    return value


def from_json(data: dict[str, Any]) -> Record:
    """The record that ``to_json`` wrote. Raises KeyError or TypeError for anything else."""
    kinds: dict[str, Callable[..., object]] = {
        "job": Job,
        "device": Device,
        "before": Snapshot,
        "model": Built,
        "built": Snapshot,
        "loaded": Snapshot,
        "prefill": _phase,
        "decode": _phase,
        "timings": read_timings,
    }
    parts = {key: kind(**data[key]) for key, kind in kinds.items() if data[key] is not None}
    return Record(**{**data, **parts})


def _phase(*, memory: dict[str, Any], **rest: Any) -> Phase:
    return Phase(**rest, memory=Snapshot(**memory))


def read_timings(**data: Any) -> Timings:
    """The timings that ``plain`` made a mapping of. Raises KeyError or TypeError for anything else."""
    return timings.from_json(data)
