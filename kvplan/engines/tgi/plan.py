"""What text-generation-inference makes of a model on a node."""

from collections.abc import Iterator

from kvplan.core import rank_costs, versions
from kvplan.core.cells import Form, cells
from kvplan.core.device import Node
from kvplan.core.ledger import Entry, Interval, NotModeled, Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.pooled import Plan, Rank, sized
from kvplan.core.rank_entries import Pass, beside, weights_of
from kvplan.core.serving_checks import split, states, too_large
from kvplan.core.token_pool import Part, Pool
from kvplan.core.units import GIB
from kvplan.engines.tgi.rules import VERSIONS, Rules, rules_for
from kvplan.engines.tgi.settings import Settings

SOURCE = "text-generation-inference 3.3.7 models/flash_causal_lm.py, warmup"
_ON_LOAD = {"fp8": "float8_e4m3fn", "eetq": "int8", "bitsandbytes": "int8", "bitsandbytes-nf4": "nf4", "bitsandbytes-fp4": "nf4"}


def plan(model: ModelSpec, settings: Settings, node: Node) -> Plan:
    """Everything that no workload changes. Raises UnavailableError for a cache that is not modeled."""
    rules, newer = rules_for(settings.version)
    on_load = _ON_LOAD.get(settings.quantization or "") if model.quantization is None else None
    ways = rank_costs.Ways(settings.num_shard, on_load=on_load)
    entries = beside(model, settings.dtype, ways, _largest(settings), rank_costs.weights(model, settings.dtype, ways)[0])
    kept = cells(model, Form(settings.num_shard, settings.kv_cache_dtype, windows=False, expanded=True))
    pool = Pool((Part(sum(cell.n_bytes for cell in kept.tokens)),), rules.block_tokens)
    rank = Rank(entries, kept, pool, _budget(settings, node, entries, rules))
    return Plan(
        ranks=(rank,),
        tp=settings.num_shard,
        dtype=settings.kv_cache_dtype,
        limit=settings.max_total_tokens or model.max_ctx_tokens or 2**20,
        said=settings.max_total_tokens is not None,
        most=settings.max_batch_size or settings.max_concurrent_requests,
        source=SOURCE,
        refusals=_refusals(model, settings, node, rank),
        findings=(versions.newer("TGI", settings.version, VERSIONS[-1]),) if newer else (),
        not_modeled=(NotModeled("warm-up", "what the warm-up finds beside its largest prefill: workspaces and fragments", 0, GIB),),
        lines=_lines(rank),
    )


def _largest(settings: Settings) -> Pass:
    """The warm-up's prefill, which may ask for the logits of all its tokens."""
    return Pass(settings.max_batch_prefill_tokens, settings.max_batch_prefill_tokens, len(settings.cuda_graphs))


def _budget(settings: Settings, node: Node, entries: tuple[Entry, ...], rules: Rules) -> Interval | None:
    """What the fraction leaves beside weights, context and the largest prefill, whose own cache is part of it; graphs come after."""
    if not node.gpus:
        return None
    places = [place for place in node.places() if place.id != "host"]
    total, used = min(place.capacity_bytes or 0 for place in places), max(place.used_before_bytes for place in places)
    taken = [sum(entry.size[bound] for entry in entries if entry.term != "graphs") + used for bound in range(3)]
    share = settings.cuda_memory_fraction
    if rules.of_total:
        free = [round(total * share * rules.wiggle / 100) - each for each in taken]
    else:
        free = [round((total * share - each) * rules.wiggle / 100) for each in taken]
    return Interval(free[2], free[1], free[0])


def _refusals(model: ModelSpec, settings: Settings, node: Node, rank: Rank) -> tuple[Refusal, ...]:
    """The launcher's own checks, then the card, then the pool."""
    found = (*_arguments(settings), *states(model), *_stateful(rank), *split(model, node, settings.num_shard, settings.num_shard))
    if found or rank.budget is None:
        return found
    return too_large(weights_of(rank.beside), rank_costs.context(settings.num_shard), node) or tuple(_pool(settings, rank))


def _arguments(settings: Settings) -> Iterator[Refusal]:
    inputs, total = settings.max_input_tokens, settings.max_total_tokens
    if inputs is not None and total is not None and inputs >= total:
        yield Refusal("KV358", "parse", f"`max_input_tokens`({inputs}) must be < `max_total_tokens`({total})")


def _stateful(rank: Rank) -> Iterator[Refusal]:
    if rank.cells.state_bytes:
        yield Refusal("KV355", "config", "no class of this engine keeps states of fixed size beside a paged cache")


def _pool(settings: Settings, rank: Rank) -> Iterator[Refusal]:
    """Source: text-generation-inference 3.3.7 flash_causal_lm.py, warmup; backends/v3/src/lib.rs, connect_backend."""
    tokens = sized((rank,), 1).tokens
    if not tokens:
        tokens_said = f"{settings.max_batch_prefill_tokens} prefill tokens"
        text = f"Not enough memory to handle {tokens_said}. You need to decrease `--max-batch-prefill-tokens`"
        yield Refusal("KV350", "profile", text)
    elif settings.max_total_tokens is not None and settings.max_total_tokens > tokens:
        yield Refusal("KV359", "kv_check", f"Not enough memory to handle `max_total_tokens={settings.max_total_tokens}`")


def _lines(rank: Rank) -> tuple[str, ...]:
    """What the router prints."""
    tokens = sized((rank,), 1).tokens
    return (f"Setting max batch total tokens to {tokens}",) if tokens else ()
