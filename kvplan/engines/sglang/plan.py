"""What SGLang makes of a model on a node: its ranks, its pools, its words."""

from collections.abc import Iterator

from kvplan.core import rank_costs
from kvplan.core.cells import Cells, Form, cells
from kvplan.core.device import Node
from kvplan.core.ledger import Interval, NotModeled
from kvplan.core.model import ModelSpec
from kvplan.core.pooled import Plan, Rank, sized
from kvplan.core.rank_entries import Pass, beside
from kvplan.core.roles import TOWERS
from kvplan.core.stages import layer_counts
from kvplan.core.token_pool import Part, Pool, States
from kvplan.core.units import GIB
from kvplan.engines.sglang import notes, refusals
from kvplan.engines.sglang.defaults import WHOLE_PROMPTS, n_prefill_graphs
from kvplan.engines.sglang.resolve import PACKED
from kvplan.engines.sglang.rules import Rules, rules_for
from kvplan.engines.sglang.settings import Settings

_PACKED_LATENT = 656  # 512 latents of a byte, four float32 scales, 64 rotated channels of two bytes
_RAW_BLACKWELL = 10  # major compute capability whose kernels take latents of fp8 without scales
_MOST_RUNNING = 4096
_ON_LOAD = {"fp8": "float8_e4m3fn", "w8a8_fp8": "float8_e4m3fn", "mxfp8": "float8_e4m3fn", "w8a8_int8": "int8", "bitsandbytes": "nf4"}
"""What an unquantized checkpoint is brought to while it loads. Source: sglang 0.5.23 srt/layers/quantization."""
_SLOTS_EACH, _WITHOUT_RADIX = 3, 1
SOURCE = "sglang 0.5.23 srt/mem_cache/kv_cache_configurator.py, _profile_available_bytes; srt/model_executor/pool_configurator.py"


def plan(model: ModelSpec, settings: Settings, node: Node) -> Plan:
    """Everything that no workload changes. Raises UnavailableError for a cache that is not modeled."""
    rules, newer = rules_for(settings.version)
    ranks = tuple(_ranks(model, settings, node, rules))
    limit = settings.context_length or model.max_ctx_tokens or 2**20
    return Plan(
        ranks=ranks,
        tp=settings.tp,
        dtype=settings.kv_cache_dtype,
        limit=limit,
        said=settings.context_length is not None,
        most=settings.max_running_requests or _MOST_RUNNING,
        source=SOURCE,
        refusals=refusals.refusals(model, settings, node, ranks),
        findings=notes.findings(settings, ranks, newer=newer),
        not_modeled=_not_modeled(model, settings),
        lines=_lines(ranks, settings),
    )


def _ranks(model: ModelSpec, settings: Settings, node: Node, rules: Rules) -> Iterator[Rank]:
    counts, start = layer_counts(model.n_layers, settings.pp), 0
    on_load = _ON_LOAD.get(settings.quantization or "") if model.quantization is None else None
    ways = rank_costs.Ways(settings.tp, settings.pp, settings.tp // settings.attention_dp, on_load)
    loaded = rank_costs.weights(model, settings.dtype, ways)
    for stage, count in enumerate(counts):
        kept = cells(model, _form(settings, node, rules), start, start + count)
        start += count
        yield Rank(
            beside=beside(model, settings.dtype, ways, _largest(settings, rules), loaded[stage]),
            cells=kept,
            pool=pool(model, kept, settings, rules),
            budget=_budget(settings, node, loaded[stage]),
        )


def _form(settings: Settings, node: Node, rules: Rules) -> Form:
    capability = node.gpus[0].compute_capability if node.gpus else None
    raw = rules.raw_sparse and capability is not None and capability[0] == _RAW_BLACKWELL
    fp8 = settings.kv_cache_dtype == "float8_e4m3fn"
    return Form(
        tp=settings.tp // settings.attention_dp,
        dtype=settings.kv_cache_dtype,
        sparse_bytes=_PACKED_LATENT if fp8 and not raw else 0,
        scale_elems=PACKED.get(settings.kv_cache_dtype, 0),
        indexers=rules.indexers,
        ssm_dtype=settings.mamba_ssm_dtype,
    )


def pool(model: ModelSpec, kept: Cells, settings: Settings, rules: Rules) -> Pool:
    """The pools of one rank. Source: sglang 0.5.23 pool_configurator.py, DefaultPoolConfigurator and HybridSWAPoolConfigurator;
    kv_cache_configurator.py, _handle_max_mamba_cache."""
    apart = settings.windows and model.architecture in rules.hybrids
    windowed = [cell for cell in kept.tokens if apart and cell.window_tokens is not None]
    whole = [cell for cell in kept.tokens if cell not in windowed]
    parts = [Part(sum(cell.n_bytes for cell in whole))] if whole else []
    if windowed:
        window = max(cell.window_tokens or 0 for cell in windowed)
        share = settings.swa_per_mille if whole else 1000
        parts.append(Part(sum(cell.n_bytes for cell in windowed), window, share))
    return Pool(tuple(parts), settings.page_size, settings.page_size, _states(kept, settings, rules), settings.max_total_tokens)


def _states(kept: Cells, settings: Settings, rules: Rules) -> States | None:
    if not kept.state_bytes:
        return None
    slots = settings.mamba_slots
    if slots is None and not settings.radix_cache:
        slots = settings.max_running_requests
    n_slots = None if slots is None else max(1, slots // settings.attention_dp)
    each = _SLOTS_EACH if settings.radix_cache else _WITHOUT_RADIX
    return States(kept.state_bytes, each, 1, n_slots, settings.mamba_per_mille)


def _budget(settings: Settings, node: Node, loaded: Interval) -> Interval | None:
    """available − total · (1 − mem_fraction_static): the share of what was free before loading, less the weights."""
    if not node.gpus:
        return None
    card = min(place.usable_bytes or 0 for place in node.places() if place.id != "host")
    before = rank_costs.context(settings.tp * settings.pp)
    low, best, high = sorted(round((card - taken) * settings.mem_fraction_static) for taken in before)  # a share may be below 0
    return Interval(low - loaded.high, best - loaded.best, high - loaded.low)


def _largest(settings: Settings, rules: Rules) -> Pass:
    chunk = settings.chunked_prefill_size if settings.chunked_prefill_size > 0 else WHOLE_PROMPTS
    of_prompts = n_prefill_graphs(chunk) if rules.prefill_graphs and settings.graph_batches else 0
    return Pass(chunk, 0, _n_graphs(settings.graph_batches) + of_prompts)


def _n_graphs(largest: int) -> int:
    """Captured batches. Source: sglang 0.5.23 cuda_graph_hook.py, generate_decode_cuda_graph_batch_sizes."""
    few = sum(size <= largest for size in (1, 2, 4, 8, 12))
    steps = ((16, 257, 8), (272, 512, 16), (512, largest + 1, 32))
    return few + sum(len(range(first, min(end, largest + 1), by)) for first, end, by in steps)


def _not_modeled(model: ModelSpec, settings: Settings) -> tuple[NotModeled, ...]:
    found = [NotModeled("workspaces", "workspaces of attention and of all-to-all kernels, which lie in what the share leaves", 0, 2 * GIB)]
    if settings.speculative not in (None, "NGRAM"):
        found.append(NotModeled("drafter", f"the drafter of {settings.speculative}: its weights, its layers of cache and its graphs"))
    if any(group.role in TOWERS for group in model.weights):
        found.append(NotModeled("encoder", "passes of the encoder and the cache of its results", 0, 8 * GIB))
    return tuple(found)


def _lines(ranks: tuple[Rank, ...], settings: Settings) -> tuple[str, ...]:
    """What the memory pools print. Source: sglang 0.5.23 srt/mem_cache/memory_pool.py, _finalize_allocation_log."""
    found, here = sized(ranks, 1), ranks[0]
    if here.budget is None or not found.tokens:
        return ()
    states = () if here.pool.states is None else (f"Mamba Cache is allocated. max_mamba_cache_size: {found.slots}",)
    return (*states, *(_line(part, found.tokens, here.cells, settings) for part in here.pool.parts))


def _line(part: Part, n_tokens: int, kept: Cells, settings: Settings) -> str:
    tokens = part.tokens(n_tokens, settings.page_size)
    here = [cell for cell in kept.tokens if (cell.window_tokens is not None) == (part.window_tokens is not None)] or list(kept.tokens)
    size, keys = (
        part.token_bytes * (tokens + settings.page_size) / GIB,
        sum(cell.k_bytes for cell in here) / sum(cell.n_bytes for cell in here),
    )
    if any(cell.kind == "mla" for cell in here):
        return f"KV Cache is allocated. #tokens: {tokens}, KV size: {size:.2f} GB"
    return f"KV Cache is allocated. #tokens: {tokens}, K size: {size * keys:.2f} GB, V size: {size * (1 - keys):.2f} GB"
