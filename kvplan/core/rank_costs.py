"""What a rank of a server with tensor parallelism holds beside its cache, as far as no log of the engine settles it."""

from typing import Literal, NamedTuple

from kvplan.core.dtypes import DTYPES
from kvplan.core.ledger import Interval
from kvplan.core.model import Layer, ModelSpec
from kvplan.core.sharding import Sharding, group_bytes
from kvplan.core.stages import layer_counts
from kvplan.core.units import GIB, MIB

End = Literal["first", "last"]

_ALONE = Interval(int(0.25 * GIB), int(0.5 * GIB), GIB)
_TOGETHER = Interval(int(0.75 * GIB), int(1.5 * GIB), int(2.5 * GIB))
"""CUDA's context, and NCCL beside it: 0.51 GiB alone and 1.43 to 2.07 together of 79.19 on H100 (vLLM 0.19 logs, llm-d planner PR 205);
2.0 of 23.64 on four cards of 24 GB (an SGLang 0.4.3 log of QwQ-32B: 15.54 GiB of weights, 6.09 left), 1.3 of 24 (four Intel cards)."""

_GRAPH = Interval(2 * MIB, 10 * MIB, 40 * MIB)
"""One captured batch size: vLLM 0.19 on H100 took 0.51 to 1.85 GiB for 102; SGLang 1.66 GiB on GB10 for GLM-5."""

LOADED = (1, 3)
"""Hundredths by which weights in memory may be less or more than their tensors: allocators' rounding, tables of rotations, copies that
kernels ask for. QwQ-32B at TP4: 15.54 GiB printed for 15.27; NemotronH at TP4: 14.76 for 14.72."""


def context(n_ranks: int) -> Interval:
    """What CUDA, and NCCL between several ranks, have taken before the weights are loaded."""
    return _ALONE if n_ranks == 1 else _TOGETHER


def graphs(n_sizes: int) -> Interval:
    """CUDA graphs of so many batch sizes."""
    return Interval(*(n_sizes * bound for bound in _GRAPH))


def forward(model: ModelSpec, dtype: str, tp: int, n_tokens: int, n_rows: int) -> Interval:
    """The widest moment of a pass over ``n_tokens``: the stream, two residuals, queries, keys and values or a gated block of the
    feed-forward. Beside it the logits of up to ``n_rows``: none of them, those in the model's type, those and their float32 copy."""
    elem = DTYPES[dtype].block_bytes
    widest = max(_widths(run.layer) for run in model.runs)
    layers = n_tokens * (3 * model.hidden_size + widest // tp) * elem
    logits = n_rows * model.vocab_size
    return Interval(layers // 4, layers + logits * elem, 3 * layers + logits * (elem + 4))


def _widths(layer: Layer) -> int:
    heads = [3 * mixer.n_heads * mixer.head_dim for mixer in layer.mixers if mixer.kind in ("full", "sliding", "chunked", "cross")]
    latents = [2 * mixer.n_heads * (mixer.nope_head_dim + mixer.rope_head_dim) for mixer in layer.mixers if mixer.kind == "mla"]
    ffns = [3 * ffn.intermediate * (ffn.n_active if ffn.kind == "moe" else 1) for ffn in layer.ffns]
    return max((*heads, *latents, *ffns), default=0)


class Ways(NamedTuple):
    """How weights are shared out: ``tp`` ranks in each of ``pp`` stages. Attention is split over ``attention_tp`` of them, the rest over
    all. ``on_load`` is the element type of linear layers that are quantized while they load, None where they stay as stored."""

    tp: int
    pp: int = 1
    attention_tp: int | None = None
    on_load: str | None = None


def weights(model: ModelSpec, dtype: str, ways: Ways) -> tuple[Interval, ...]:
    """Bytes on one rank of each pipeline stage.

    What lies outside the layers is counted on the first stage and on the last, a tied embedding on both.
    """
    sizes = [_layer(layer, dtype, ways) for layer in model.layers()]
    found, start = [], 0
    for stage, count in enumerate(layer_counts(model.n_layers, ways.pp)):
        ends = sum(_outside(model, dtype, ways.tp, end) for end in _ends(stage, ways.pp, model))
        best = sum(sizes[start : start + count]) + ends
        start += count
        less, more = LOADED if model.exact else (LOADED[0] + model.off_by[0], LOADED[1] + model.off_by[1])
        found.append(Interval(best - best * less // 100, best, best + best * more // 100))
    return tuple(found)


def _layer(layer: Layer, dtype: str, ways: Ways) -> int:
    heads = [mixer.n_kv_heads for mixer in layer.mixers if mixer.kind in ("full", "sliding", "chunked", "cross")]
    wide = Sharding(ways.tp, ways.tp, dtype, kv_heads=heads[0] if heads else ways.tp, on_load=ways.on_load)
    attention = wide._replace(tp=ways.attention_tp or ways.tp)
    return sum(group_bytes(group, attention if group.role == "attention" else wide) for group in layer.weights)


def _ends(stage: int, pp: int, model: ModelSpec) -> tuple[End, ...]:
    """What a stage holds outside its layers."""
    tied = any(group.role == "lm_head" and group.tied_to for group in model.weights)
    first: tuple[End, ...] = ("first",) if stage == 0 else ()
    last: tuple[End, ...] = ("last",) if stage == pp - 1 else ()
    ends = (*first, *last)
    return (*ends, "first") if tied and stage == pp - 1 and stage else ends


def _outside(model: ModelSpec, dtype: str, tp: int, end: End) -> int:
    how = Sharding(tp, tp, dtype, kv_heads=tp)
    return sum(group_bytes(group, how) for group in model.weights if (group.role in ("lm_head", "norm")) == (end == "last"))
