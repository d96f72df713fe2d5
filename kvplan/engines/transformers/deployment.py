"""One model on Transformers with resolved settings: the ledger of a run."""

from typing import TYPE_CHECKING, NamedTuple

from kvplan.core.device import Node
from kvplan.core.ledger import ZERO, Entry, Interval, KvPlan, Phases
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.transformers import entries, loading, notes, overhead, segments, unpacked, weights
from kvplan.engines.transformers.assistant import Assistant
from kvplan.engines.transformers.compiled import compiled, reserved
from kvplan.engines.transformers.footprint import Footprint, Peaks
from kvplan.engines.transformers.report import Kept, kv_plan
from kvplan.engines.transformers.reserved import Reserved
from kvplan.engines.transformers.rules import Rules, rules_for
from kvplan.engines.transformers.settings import Settings
from kvplan.engines.transformers.unpooled import Unpooled

if TYPE_CHECKING:
    from kvplan.engines.transformers.passing import Passing

PLACE = "gpu0"
CUDNN_FROM = (9, 0)


class Margin(NamedTuple):
    """How far the activations may be off, in hundredths: of what the prompt's pass holds beside the cache (only upwards),
    and of everything beside the weights. Both grow with the workload, so that the bounds do."""

    above_surge: int
    of_all: int


TRACED = Margin(above_surge=3, of_all=1)
"""96 traces of 16 models: the prefill within 0.03 %, decoding within 1 % of what is beside the weights."""

LIKELY = Margin(above_surge=3, of_all=25)
"""Architectures counted by likeness: up to 21 % off in traces (a feed-forward without a gate)."""

CUDNN_ABOVE = 10
NEWER_OF_ALL = 10


class Portion(NamedTuple):
    """What of a model one of several GPUs runs: ``layers`` is the model with no others. ``beside`` are constant entries of its own there,
    ``passing`` are weights that wait elsewhere."""

    place: str
    footprint: Footprint
    weights: weights.Weights
    kept: Kept
    layers: ModelSpec
    beside: tuple[Entry, ...] = ()
    passing: "Passing | None" = None


class Deployment(Unpooled):
    """Implements the seam's Deployment for eager PyTorch on one GPU."""

    def __init__(self, model: ModelSpec, settings: Settings, node: Node, portion: Portion | None = None) -> None:
        """Everything that no workload changes is computed once, here; of a ``portion`` the node's only GPU is the one that runs it."""
        rules, newer = rules_for(settings.version)
        gpu = node.gpus[0] if node.gpus else None
        capability = gpu.compute_capability if gpu else None
        self.refusals = notes.refusals(model, settings, node, rules)
        loaded = loading.as_loaded(model, capability, settings.compute_dtype)
        self.not_modeled = (*weights.left_out(model), *notes.not_modeled(loaded, settings))
        self._footprint, self._weights, self._kept, held = compiled(model, settings, capability)
        self._place, self._passing = PLACE, portion.passing if portion else None
        if portion:
            self._place, self._footprint, self._weights, self._kept = portion[:4]
        self._unpacked = unpacked.unpacked(loaded, self._footprint.plan.elem_bytes)
        self._unpacks = not unpacked.is_nothing(self._unpacked)
        self._assistant = Assistant(model.draft, settings, capability) if model.draft and settings.assistant else None
        self._load_peak = loading.peak(loaded, self._weights.size.best, settings.dtype, rules)
        self.findings = (*notes.findings(model, settings, node, rules, newer=newer), *held)
        self._plan = self._footprint.plan
        self._margin = _margin(model, capability, rules, newer=newer)
        self._on_gpu = (overhead.workspace(gpu), overhead.runtime_context(gpu), *(portion.beside if portion else ())) if gpu else ()
        self._reserved: Reserved | None = None
        if gpu and portion:
            self._reserved = Reserved(portion.layers, self._footprint, capability, scores=bool(held))
        elif gpu:
            self._reserved = reserved(model, settings, capability)
        self._constant = self._weights.size
        for entry in self._on_gpu:
            self._constant = self._constant.plus(entry.size)

    def entries(self, load: Workload) -> tuple[Entry, ...]:
        """The pass with the highest peak, part by part; on a GPU also what the process holds beside its tensors."""
        plan, peaks = self._plan, self._footprint.peaks(load, bound=True)
        found = [weights.entry(self._weights)]
        if plan.settings.cache != "none":
            found.append(entries.cache(plan, load, self._cache(load, peaks), self._footprint.fullest(load)))
        if plan.state_bytes:
            found.append(entries.state(plan, load))
        again = plan.settings.cache == "none"
        read = load._replace(prompt_tokens=load.ctx_tokens) if again else load
        moment = self._footprint.moment(read, decoding=peaks.decode > peaks.prefill and not again)
        found.append(entries.activations(plan, load, peaks, self._activations(peaks), moment))
        if self._assistant:
            found.append(self._assistant.entry(load))
        if self._unpacks:
            found.append(unpacked.entry(self._unpacked, load.batch * load.prompt_tokens))
        if peaks.logits:
            found.append(entries.logits(plan, load, peaks.logits))
        if self._passing:
            found.append(self._passing.entry(peaks, load))
        if self._reserved:
            found += [*self._on_gpu, segments.entry(self._reserved.segments, self._reserved.load(peaks, load))]
        return tuple(found) if self._place == PLACE else tuple(entry._replace(place=self._place) for entry in found)

    def need_bytes(self, place: str, load: Workload) -> Interval:
        """Sum of the entries at ``place``. A prompt needs at least what a shorter one does, whatever its masks' alignment."""
        if place != self._place:
            return ZERO
        peaks = self._footprint.peaks(load, bound=True)
        low, best, high = self._constant
        held = peaks.state + peaks.logits
        low, best, high = low + held, best + held, high + held
        parts = [self._cache(load, peaks), self._activations(peaks)]
        if self._unpacks:
            parts.append(self._unpacked.size(load.batch * load.prompt_tokens))
        if self._assistant:
            parts.append(self._assistant.entry(load).size)
        if self._passing:
            parts.append(self._passing.size(peaks, load))
        if self._reserved:
            parts.append(self._reserved.segments.size(self._reserved.load(peaks, load)))
        for part_low, part_best, part_high in parts:
            low, best, high = low + part_low, best + part_best, high + part_high
        return Interval(low, best, high)

    def phases(self, load: Workload) -> Phases:
        """Live tensor bytes: the end of loading, the exact masks of this prompt, the worst of the decode steps."""
        peaks, held = self._footprint.peaks(load), self._weights.size.best
        prefill = held + peaks.prefill + self._unpacked.size(load.batch * load.prompt_tokens).best
        decode = held + peaks.decode + self._unpacked.size(load.batch).best
        if self._passing:
            prefill, decode = prefill + self._passing.in_prompt(peaks), decode + self._passing.in_step
        return Phases(self._load_peak, prefill, decode if load.decode_steps else None)

    def kv(self, load: Workload) -> KvPlan:
        """Ideal and reserved bytes, and the groups of equal layers."""
        peaks = self._footprint.peaks(load)
        return kv_plan(self._kept, self._plan, load, peaks.cache + peaks.state)

    def _cache(self, load: Workload, peaks: Peaks) -> Interval:
        """Exact, but for the unquantized tail of a quantized cache, which comes and goes."""
        return Interval(peaks.cache - load.batch * self._plan.tail_bytes, peaks.cache, peaks.cache)

    def _activations(self, peaks: Peaks) -> Interval:
        beside = max(peaks.prefill, peaks.decode)
        best = beside - peaks.cache - peaks.state - peaks.logits
        spread = beside * self._margin.of_all // 100
        return Interval(max(0, best - spread), best, best + spread + peaks.surge * self._margin.above_surge // 100)


def _margin(model: ModelSpec, capability: tuple[int, int] | None, rules: Rules, *, newer: bool) -> Margin:
    """Wider for likenesses, and for versions that are newer or older than the code that was traced.

    On Hopper and newer cuDNN's attention takes a workspace that nobody published.
    """
    base = TRACED if model.form.checked else LIKELY
    cudnn = CUDNN_ABOVE if capability is not None and capability >= CUDNN_FROM else 0
    return base._replace(above_surge=base.above_surge + cudnn, of_all=base.of_all + rules.off_by + (NEWER_OF_ALL if newer else 0))
