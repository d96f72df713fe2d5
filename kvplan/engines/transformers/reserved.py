"""Which of the allocator's figures hold for a model with its settings, and what of a workload they are taken of."""

from kvplan.core.allocator import ALONE_FROM_BYTES, ALONE_STEP_BYTES, LARGE_SEGMENT_BYTES, SMALL_BYTES
from kvplan.core.model import ModelSpec, WeightGroup
from kvplan.core.units import ceil_to
from kvplan.core.workload import Workload
from kvplan.engines.transformers.footprint import Footprint, Peaks
from kvplan.engines.transformers.fragments import Fragments, fragments
from kvplan.engines.transformers.passes import gathered
from kvplan.engines.transformers.segments import Load, Segments
from kvplan.engines.transformers.shapes import SHAPES
from kvplan.engines.transformers.shares import SHARES

HALF = ("bfloat16", "float16")
FLASH_FROM = (8, 0)
OFF_BY = 100
"""An order of tensors is of this model where its own peak is the form's, within 1/100."""

SAMPLE = Workload(257, 1024, 256)
"""Before any window hides something."""


class Reserved:
    """The allocator's part of one model with its settings."""

    def __init__(self, model: ModelSpec, footprint: Footprint, capability: tuple[int, int] | None, *, scores: bool) -> None:
        """``scores``: some attention holds scores of all tokens."""
        plan = footprint.plan
        even = not scores and not any(mixer.kind == "mla" for run in model.runs for mixer in run.layer.mixers)
        found = fragments(model, plan, SHAPES) if plan.kinds and _is_like_traces(model, footprint, capability) else None
        fixed = plan.settings.segments == "fixed"
        self.segments = Segments(
            SHARES[plan.settings.segments, even],
            found if found and _is_its_own(found, footprint) else None,
            rounding(model, plan.settings.dtype) if fixed else 0,
            sum(run.n_layers for run in model.runs) * 2 * SMALL_BYTES,
        )
        self._copies = max((moment.token for kind in plan.kinds for moment in gathered(plan, kind)), default=0)

    def load(self, peaks: Peaks, load: Workload) -> Load:
        """Cache and activations, what is taken and given back while the process runs, at the peaks of ``load``."""
        copies = min(self._copies * load.batch, max(0, peaks.decode - peaks.cache - peaks.state)) if load.decode_steps else 0
        found = self.segments.found
        widest = found.widest * load.batch * load.prompt_tokens if found else 0
        return Load(peaks.prefill - peaks.state, max(0, peaks.decode - peaks.state - copies), copies, widest)


def _is_like_traces(model: ModelSpec, footprint: Footprint, capability: tuple[int, int] | None) -> bool:
    """Whether a prompt is read as in the traces of orders: whole, by the flash kernel, into a cache that grows."""
    plan = footprint.plan
    settings = plan.settings
    whole = settings.padding == "none" and not settings.chunk_tokens and settings.forward == "generate" and not settings.assistant
    flash = settings.attn != "eager" and settings.compute_dtype in HALF and (capability is None or capability >= FLASH_FROM)
    newest = settings.cache == "dynamic" and not plan.behavior.off_by
    return whole and flash and newest and model.quantization is None


def _is_its_own(found: Fragments, footprint: Footprint) -> bool:
    expected = footprint.peaks(SAMPLE).prefill // (SAMPLE.batch * SAMPLE.prompt_tokens)
    return abs(found.alive - expected) * OFF_BY < expected


def rounding(model: ModelSpec, dtype: str) -> int:
    """At most what segments of weights hold beside them, each weight moved to the GPU by itself."""
    found = {id(run.layer): sum(_beside(group, dtype) for group in run.layer.weights) for run in model.runs}
    layers = sum(run.n_layers * found[id(run.layer)] for run in model.runs)
    return layers + sum(_beside(group, dtype) for group in model.weights)


def _beside(group: WeightGroup, dtype: str) -> int:
    """Of experts, which are one tensor once loaded, as of one."""
    n_tensors = 1 if group.role == "expert" else group.n_copies
    size = group.run_bytes(dtype) // n_tensors
    if size <= SMALL_BYTES:
        return 0
    segment = ceil_to(size, ALONE_STEP_BYTES) if size >= ALONE_FROM_BYTES else LARGE_SEGMENT_BYTES // (LARGE_SEGMENT_BYTES // size)
    return n_tensors * segment - group.run_bytes(dtype)
