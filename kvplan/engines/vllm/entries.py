"""The lines of the ledger for one rank."""

from kvplan.core.ledger import Basis, Entry, Interval, exactly
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.vllm.profile import Profile
from kvplan.engines.vllm.settings import Settings

_PROFILE = "llm-d planner accuracy logs of vLLM 0.19.0 and the rows in kvplan/engines/vllm/profile.py"

_SAMPLER = "sampler: {rows} rows · {vocab} words · 12 B and the model's type; {tokens} tokens · {hidden} channels beside it"


def weights(size: Interval, n_params: int, settings: Settings, place: str) -> Entry:
    """The weights of a rank as built, with rotary tables and the scales of the cache."""
    basis: Basis = "exact" if size.low == size.high else "modeled"
    inputs: dict[str, int | str] = {"n_params": n_params, "dtype": settings.dtype, "tp": settings.tp, "pp": settings.pp}
    formula = "{n_params} parameters in {dtype} over tp {tp} and pp {pp}, vocabulary padded, narrow heads replicated, rotary tables"
    source = "vllm 0.33 model_executor/layers: vocab_parallel_embedding.py, linear.py, rotary_embedding"
    return Entry("weights", "weights", place, size, basis, formula, inputs, source)


def drafter(n_bytes: int, settings: Settings, place: str) -> Entry:
    """The drafter's layers, or all of a drafting model."""
    method = settings.speculative.method if settings.speculative else ""
    return Entry(
        "draft_model", f"drafter ({method})", place, exactly(n_bytes), "exact", "layers of the drafter", {}, "vllm 0.33 v1/spec_decode"
    )


def after_loading(copied: Interval, adapter_bytes: int, settings: Settings, place: str) -> tuple[Entry, ...]:
    """What loading adds to the weights: kernels' own layouts, and buffers for adapters."""
    found = []
    if copied.high:
        exact: Basis = "exact" if copied.low == copied.high else "modeled"
        source = "vllm 0.33 mla_attention.py, process_weights_after_loading; vLLM 0.19.0 logs of MXFP4 models on H100"
        found.append(Entry("workspace", "copies for the kernels", place, copied, exact, "weights laid out anew", {}, source))
    if settings.lora is not None and adapter_bytes:
        inputs: dict[str, int | str] = {"n": settings.lora.max_loras, "rank": settings.lora.max_rank}
        formula = "{n} adapters of rank {rank}: A and B of every linear layer"
        found.append(Entry("lora", "adapters", place, exactly(adapter_bytes), "exact", formula, inputs, "vllm 0.33 lora/layers"))
    return tuple(found)


def pool(size: Interval, place: str, basis: Basis, *, block_bytes: int) -> Entry:
    """The pool that the engine reserves; ``basis`` is that of what the profile run leaves for it."""
    return Entry(
        term="kv_cache",
        name="kv cache pool",
        place=place,
        size=size,
        basis="exact" if size.low == size.high else basis,
        formula="as many blocks of {bytes_per_block} bytes as the budget holds",
        inputs={"bytes_per_block": block_bytes},
        source="vllm 0.33 v1/core/kv_cache_planning.py",
    )


def blocks(size: Interval, place: str, load: Workload, *, block_bytes: int) -> Entry:
    """The blocks that a workload takes; how many are in flight beyond the windows is not known to the block."""
    inputs: dict[str, int | str] = {
        "batch": load.batch,
        "ctx": load.ctx_tokens,
        "n_blocks": size.best // max(1, block_bytes),
        "bytes_per_block": block_bytes,
    }
    return Entry(
        term="kv_cache",
        name="kv cache blocks",
        place=place,
        size=size,
        basis="exact" if size.low == size.high else "modeled",
        formula="{batch} sequences of {ctx} tokens, what is in flight beyond windows, a null block: {n_blocks} · {bytes_per_block} B",
        inputs=inputs,
        source="vllm 0.33 v1/core/single_type_kv_cache_manager.py",
    )


def profiled(found: Profile, model: ModelSpec, settings: Settings, place: str) -> tuple[Entry, ...]:
    """What the profile run finds beside the weights, and what CUDA had taken before."""
    rows = min(settings.max_num_seqs, settings.max_num_batched_tokens)
    words: dict[str, int | str] = {
        "rows": rows,
        "vocab": model.vocab_size,
        "tokens": settings.max_num_batched_tokens,
        "hidden": model.hidden_size,
    }
    ways: dict[str, int | str] = {"tp": settings.tp}
    sizes: dict[str, int | str] = {"n_sizes": len(settings.graph_sizes)}
    graphs = found.graphs.plus(found.later_graphs)
    lines = (
        Entry("activations", "profile run", place, found.activations, found.basis, _SAMPLER, words, _PROFILE),
        Entry("workspace", "non-torch memory", place, found.non_torch, found.basis, "NCCL and kernels at tp {tp}", ways, _PROFILE),
        Entry("graphs", "CUDA graphs", place, graphs, "modeled", "{n_sizes} batch sizes", sizes, _PROFILE),
        Entry("runtime_context", "CUDA context", place, found.context, found.basis, "taken before the budget is made", {}, _PROFILE),
    )
    return tuple(line for line in lines if line.size.high)
