"""What TensorRT-LLM makes of a model on a node."""

from collections.abc import Iterator

from kvplan.core import rank_costs, serving_checks, versions
from kvplan.core.cells import Cells, Form, cells
from kvplan.core.device import Node
from kvplan.core.ledger import Entry, Finding, Interval, NotModeled, Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.pooled import Plan, Rank, sized
from kvplan.core.rank_entries import Pass, beside, weights_of
from kvplan.core.serving_checks import Longest, split, states, too_large
from kvplan.core.stages import layer_counts
from kvplan.core.token_pool import Part, Pool, States
from kvplan.core.units import GIB
from kvplan.engines.tensorrt_llm.rules import VERSIONS, rules_for
from kvplan.engines.tensorrt_llm.settings import Settings

SOURCE = "TensorRT-LLM of 2025-09 tensorrt_llm/_torch/pyexecutor/_util.py, _cal_max_memory; resource_manager.py, calculate_max_num_blocks"
_SCALED = {"float4_e2m1": 16}


def plan(model: ModelSpec, settings: Settings, node: Node) -> Plan:
    """Everything that no workload changes. Raises UnavailableError for a cache that is not modeled."""
    ranks = tuple(_ranks(model, settings, node))
    return Plan(
        ranks=ranks,
        tp=settings.tp,
        dtype=settings.kv_cache_dtype,
        limit=settings.max_seq_len or model.max_ctx_tokens or 2**20,
        said=settings.max_seq_len is not None,
        most=settings.max_batch_size,
        source=SOURCE,
        refusals=_refusals(model, settings, node, ranks),
        findings=tuple(_findings(settings, ranks)),
        not_modeled=tuple(_not_modeled(model, settings)),
        lines=_lines(ranks, settings),
    )


def _ranks(model: ModelSpec, settings: Settings, node: Node) -> Iterator[Rank]:
    narrow = 1 if settings.attention_dp else settings.tp
    ways, start = rank_costs.Ways(settings.tp, settings.pp, narrow), 0
    form = Form(narrow, settings.kv_cache_dtype, windows=False, scale_elems=_SCALED.get(settings.kv_cache_dtype, 0))
    loaded = rank_costs.weights(model, settings.dtype, ways)
    for stage, count in enumerate(layer_counts(model.n_layers, settings.pp)):
        kept = cells(model, form, start, start + count)
        start += count
        entries = beside(model, settings.dtype, ways, _largest(settings), loaded[stage])
        yield Rank(entries, kept, _pool(kept, settings), _budget(settings, node, entries))


def _largest(settings: Settings) -> Pass:
    sizes = (1, 2, 4, *range(8, 129, 8), *(2**power for power in range(8, 16)))
    return Pass(settings.max_num_tokens, settings.max_batch_size, sum(size <= settings.graph_batches for size in sizes))


def _pool(kept: Cells, settings: Settings) -> Pool:
    """Blocks for all layers alike; a state for each sequence that may run."""
    slots = States(kept.state_bytes, 1, 0, settings.max_batch_size) if kept.state_bytes else None
    parts = (Part(sum(cell.n_bytes for cell in kept.tokens) * settings.max_beam_width),) if kept.tokens else ()
    return Pool(parts, settings.tokens_per_block, 0, slots, settings.max_tokens, rounds_up=True)


def _budget(settings: Settings, node: Node, entries: tuple[Entry, ...]) -> Interval | None:
    """A fraction of what weights, a trial pass, graphs and context leave."""
    if not node.gpus:
        return None
    card = min(place.usable_bytes or 0 for place in node.places() if place.id != "host")
    taken = [sum(entry.size[bound] for entry in entries) for bound in range(3)]
    free = [round((card - each) * settings.free_gpu_memory_fraction) for each in taken]
    return Interval(free[2], free[1], free[0])


def _refusals(model: ModelSpec, settings: Settings, node: Node, ranks: tuple[Rank, ...]) -> tuple[Refusal, ...]:
    n_ranks = settings.tp * settings.pp
    found = (*states(model), *split(model, node, settings.tp, n_ranks, attention_tp=1 if settings.attention_dp else settings.tp))
    if found or not node.gpus:
        return found
    loaded = max((weights_of(rank.beside) for rank in ranks), key=lambda size: size.best)
    return too_large(loaded, rank_costs.context(n_ranks), node) or tuple(_no_block(ranks))


def _no_block(ranks: tuple[Rank, ...]) -> Iterator[Refusal]:
    if ranks[0].pool.parts and not sized(ranks, 1).tokens:
        yield Refusal("KV350", "kv_check", "Impossible to fit any sequence in kvCache")


def _findings(settings: Settings, ranks: tuple[Rank, ...]) -> Iterator[Finding]:
    """What the user should know of the version and of a length that the pool does not hold."""
    if rules_for(settings.version)[1]:
        yield versions.newer("TensorRT-LLM", settings.version, VERSIONS[-1])
    hint = "kv_cache_config.dtype: fp8, fewer --max_num_tokens, or more GPUs"
    longest = Longest(settings.max_seq_len, "--max_seq_len", "TensorRT-LLM lowers max_seq_len to that", hint)
    yield from serving_checks.short(longest, ranks)


def _not_modeled(model: ModelSpec, settings: Settings) -> Iterator[NotModeled]:
    yield NotModeled("workspaces", "workspaces of attention, of all-reduce and of all-to-all kernels", 0, 2 * GIB)
    if settings.backend in ("tensorrt", "trt"):
        yield NotModeled("engine", "activations of an engine built ahead of time, which it plans itself", 0, 4 * GIB)
    if any(mixer.kind in ("sliding", "chunked") for run in model.runs for mixer in run.layer.mixers):
        yield NotModeled("windows", "pools of their own for layers with a window, which some classes have: all layers keep all tokens here")


def _lines(ranks: tuple[Rank, ...], settings: Settings) -> tuple[str, ...]:
    """What the cache manager prints. Source: TensorRT-LLM cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp, allocatePools."""
    tokens = sized(ranks, 1).tokens
    if not tokens:
        return ()
    size = ranks[0].pool.n_bytes(tokens) / GIB
    return (f"Allocated {size:.2f} GiB for max tokens in paged KV cache ({tokens}).",)
