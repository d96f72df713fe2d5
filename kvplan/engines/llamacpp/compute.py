"""Compute buffers: what a step's graph takes on each device.

Source: llama.cpp b11434 src/llama-context.cpp, sched_reserve: the largest graph is reserved at start, at the full context; the
graphs are in kvplan/engines/llamacpp/graphs. Rows of logits follow a closed rule, measured on b11434.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kvplan.core.ledger import Interval
from kvplan.core.model import ModelSpec
from kvplan.core.remembered import Remembered, once
from kvplan.engines.llamacpp.cache import Pool
from kvplan.engines.llamacpp.context import Context
from kvplan.engines.llamacpp.devices import CPU, Layout
from kvplan.engines.llamacpp.frame import Frame
from kvplan.engines.llamacpp.graphs.builder import Plan
from kvplan.engines.llamacpp.graphs.growing import CELLS, Growing, Range
from kvplan.engines.llamacpp.graphs.model import Stage, graph_of
from kvplan.engines.llamacpp.graphs.nodes import ALIGNMENT
from kvplan.engines.llamacpp.graphs.schedule import reserved
from kvplan.engines.llamacpp.rows import Kind
from kvplan.engines.llamacpp.settings import Settings
from kvplan.engines.llamacpp.tables import names
from kvplan.engines.llamacpp.tail import logits

_PIPELINE_COPIES = 4  # GGML_SCHED_MAX_COPIES
_REPEATED = 3  # layers of a kind after which nothing changes any more
_LAST_HALVES, _LAST_WHOLE = 3, 2  # layers at the end that are laid out always: of those with mixers or feed-forwards alone, of others
_PLAIN = ("f16", "bf16")
_MEASURED = ("full", "sliding", "chunked", "mla", "mamba1", "mamba2", "rwkv")


class Reserved(NamedTuple):
    """Bytes by device, CPU (-1) the host; ``spread`` are hundredths that they may be off by, below and above."""

    n_bytes: dict[int, int]
    spread: tuple[int, int]

    def interval(self, device: int) -> Interval:
        """The buffer of ``device`` with its bounds."""
        best = self.n_bytes.get(device, 0)
        below, above = self.spread
        return Interval(best * (100 - below) // 100, best, best * (100 + above) // 100)


def compute(frame: Frame, settings: Settings, context: Context, pools: Mapping[Kind, Pool]) -> Reserved:
    """The buffers that one context reserves."""
    model, layout, overridden = frame.model, frame.layout, frame.weights.overridden
    n_copies = _PIPELINE_COPIES if pipelined(settings, layout) else 1
    found = dict(_graph(frame, settings, _plan(frame, settings, context, pools), n_copies))
    rows = logits(model, context, pools, layout, n_copies)
    found[layout.output] = max(found.get(layout.output, 0), rows)
    return Reserved(found, _spread(model, settings, context, layout, overridden))


_known: Remembered[Growing] = Remembered(4096)


def _graph(frame: Frame, settings: Settings, plan: Plan, n_copies: int) -> dict[int, int]:
    """Bytes by device but for the logits; graphs of one model object that differ in the cells of growing caches alone are known together.

    Memory is rounded to 32 bytes, and so is only a line over numbers of cells that are multiples of that.
    """
    model, layout = frame.model, frame.layout
    told = _staged.get(model, (frame,), lambda: _told(frame, settings))
    cells = plan.pools["full"][0] if "full" in plan.pools else 0
    growing = [kind for kind in _GROWING if kind in plan.pools and plan.pools[kind][0] == cells] if cells % ALIGNMENT == 0 else []

    def lay_out(range_: Range) -> dict[int, int]:
        sized = plan._replace(pools={kind: (CELLS if kind in growing else own, streams) for kind, (own, streams) in plan.pools.items()})
        return reserved(graph_of(model.model_type, sized, told.stages, layout.output, 0), n_copies, range_)

    pools = tuple([(kind, 0 if kind in growing else own, streams) for kind, (own, streams) in plan.pools.items()])
    key = (*plan[:5], pools, plan.k_type, plan.v_type, told.alike, layout.output, n_copies)
    return _known.get(model, key, Growing).peaks(cells, lay_out)


class _Told(NamedTuple):
    """Layers that tell what a graph takes; of one model object equal ones have an equal ``alike``, wherever layers left out lie."""

    stages: list[Stage]
    alike: tuple[object, ...]


_staged: Remembered[_Told] = Remembered(256)


def _told(frame: Frame, settings: Settings) -> _Told:
    stages = _telling(list(_stages(frame.model, settings, frame.layout, frame.weights.overridden)), 3 if frame.layout.names else 1)
    return _Told(stages, tuple((id(layer), *devices) for layer, _, *devices in stages))


_GROWING = ("full", "indexer")


def pipelined(settings: Settings, layout: Layout) -> bool:
    """Whether several devices work on several steps at once. Source: llama.cpp b11434 src/llama-context.cpp, pipeline_parallel."""
    plain = settings.offload_kqv and settings.split_mode == "layer" and not settings.override_tensors
    return len(layout.names) > 1 and layout.all_offloaded and plain and not (settings.cpu_moe or settings.n_cpu_moe or settings.n_cpu_ffn)


def _plan(frame: Frame, settings: Settings, context: Context, pools: Mapping[Kind, Pool]) -> Plan:
    return Plan(
        hidden=frame.model.hidden_size,
        n_tokens=context.n_tokens,
        n_seqs=context.n_seq_max,
        n_outputs=context.n_outputs,
        flash_attn=context.flash_attn,
        pools={kind: (pool.cells, pool.streams) for kind, pool in pools.items()},
        k_type=_kind(settings.type_k),
        v_type=_kind(settings.type_v),
        v_elems=frame.widths,
        **_beside(frame.model),
    )


@once
def _beside(model: ModelSpec) -> dict[str, int]:
    """Elements per token beside the residual stream: inputs of each layer (Gemma 4), and streams beside it (Gemma 3n).

    Source: measured on b11434.
    """
    table = next((group for group in model.weights if group.name.startswith("per_layer_model_proj")), None)
    if table is None:
        return {}
    each = table.rows // model.n_layers
    if any(group.name.startswith("altup_proj") for group in model.weights):
        return {"per_layer": table.rows + model.hidden_size, "beside": table.rows + 3 * each + 5 * model.hidden_size}
    return {"per_layer": table.rows, "beside": table.rows + 2 * each}


def _kind(name: str) -> str:
    return "f32" if name == "f32" else "plain" if name in _PLAIN else "quantized"


def _stages(model: ModelSpec, settings: Settings, layout: Layout, overridden: frozenset[int]) -> Iterator[Stage]:
    """Layers one after the other, of equal ones in a row the first few."""
    i, last, count = 0, None, 0
    for number, (run, known) in enumerate(zip(model.runs, names(model), strict=True)):
        for _ in range(run.n_layers):
            device = layout.blocks[i]
            experts = CPU if i in overridden else device
            count = count + 1 if (number, device, experts) == last else 1
            last = number, device, experts
            if count <= _REPEATED:
                yield Stage(run.layer, known, device, experts, device if settings.offload_kqv else CPU)
            i += 1


def _telling(stages: list[Stage], enough: int) -> list[Stage]:
    """Of many stages the first ``enough`` of each kind, and the last ones."""
    found, counts = [], dict[tuple[object, ...], int]()
    last = _LAST_WHOLE if all(stage.layer.mixers and stage.layer.ffns for stage in stages) else _LAST_HALVES
    for stage in stages[:-last]:
        layer = stage.layer
        key = (layer.mixers, layer.ffns, layer.kv_source is None, *stage[1:])
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= enough:
            found.append(stage)
    return [*found, *stages[-last:]]


def _spread(model: ModelSpec, settings: Settings, context: Context, layout: Layout, overridden: frozenset[int]) -> tuple[int, int]:
    """Narrow where the graph was held against measurements, wide where its steps are only like the architecture's."""
    measured, scans = _known_steps(model)
    if not measured:
        return 30, 60
    if layout.names and not settings.offload_kqv:
        return 60, 25
    if scans and (layout.names or context.n_seq_max > _FEW):
        return 25, 40
    if not context.flash_attn or overridden or (layout.output >= 0 and not layout.all_offloaded):
        return 15, 25
    return 8, 8


_FEW = 2


@once
def _known_steps(model: ModelSpec) -> tuple[bool, bool]:
    """Whether all steps of the model were measured, and whether some are scans."""
    mixers = {mixer for run in model.runs for mixer in run.layer.mixers}
    odd = any(mixer.kind not in _MEASURED or getattr(mixer, "indexer", None) for mixer in mixers)
    return bool(mixers) and not odd, any(mixer.kind in ("mamba1", "mamba2") for mixer in mixers)
