"""The settings of a vLLM server that bear on memory, every default filled in."""

from typing import Literal, NamedTuple


class Speculative(NamedTuple):
    """Speculative decoding: ``method`` as vLLM resolves it (mtp, eagle, eagle3, draft_model, ngram, medusa …).

    ``n_tokens`` are drafted at once. ``model`` is the drafter's checkpoint, None where the target drafts for itself;
    ``tp`` its tensor parallelism.
    """

    method: str
    n_tokens: int
    model: str | None = None
    tp: int = 1


class Lora(NamedTuple):
    """Adapters held at once: ``max_loras`` of at most ``max_rank``; ``fully_sharded`` splits their A matrices, too."""

    max_loras: int = 1
    max_rank: int = 16
    fully_sharded: bool = False


class Settings(NamedTuple):
    """Resolved settings; sizes in bytes, element types as vLLM's flags spell them.

    ``max_model_len`` is what the user or the model's limit says; with ``auto_fit`` (-1, ``auto``) it is the model's limit,
    of which the engine takes what fits. ``dtype`` is the model's and activations' element type, never ``auto``.
    ``quantization`` is the method of the checkpoint or of the flag. ``kv_cache_dtype`` is ``auto`` or what was asked for;
    ``block_size`` None where the engine chooses. ``kv_cache_memory_bytes`` None where utilization decides.
    ``estimates_graphs``: the profile run subtracts CUDA graphs before it sizes the pool. ``graph_sizes`` are the batch
    sizes captured, empty when none is. ``layer_partition`` are the layers of each pipeline stage where the user chose them.
    ``mm_limits`` are items per prompt and modality where the user limits them. ``v2_runner``: the model runner of 0.22.
    ``usage`` is ``serve`` for the API server, ``offline`` for LLM(): defaults differ. ``v1``: the engine of that name, else V0.
    ``hf_overrides`` is a JSON object of config keys put over the model's own, rope scaling among them.
    ``sliding_window`` False: windows are off, and no sequence may be longer than one.
    """

    version: str
    model: str
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    dtype: str
    v1: bool = True
    usage: Literal["serve", "offline"] = "serve"
    auto_fit: bool = False
    allow_long_max_model_len: bool = False
    quantization: str | None = None
    kv_cache_dtype: str = "auto"
    block_size: int | None = None
    gpu_memory_utilization: float = 0.92
    kv_cache_memory_bytes: int | None = None
    num_gpu_blocks_override: int | None = None
    tp: int = 1
    pp: int = 1
    dp: int = 1
    dcp: int = 1
    pcp: int = 1
    expert_parallel: bool = False
    layer_partition: tuple[int, ...] = ()
    enforce_eager: bool = False
    graph_sizes: tuple[int, ...] = ()
    estimates_graphs: bool = True
    prefix_caching: bool = True
    chunked_prefill: bool = True
    async_scheduling: bool = True
    v2_runner: bool = True
    hybrid_manager: bool = True
    sliding_window: bool = True
    attention_backend: str | None = None
    mamba_cache_mode: Literal["none", "align", "all"] = "none"
    mamba_block_size: int | None = None
    mamba_cache_dtype: str = "auto"
    mamba_ssm_cache_dtype: str = "auto"
    speculative: Speculative | None = None
    lora: Lora | None = None
    cpu_offload_bytes: int = 0
    swap_space_bytes: int = 0
    kv_offloading_bytes: int = 0
    mm_limits: tuple[tuple[str, int], ...] = ()
    skip_mm_profiling: bool = False
    language_model_only: bool = False
    sleep_mode: bool = False
    hf_overrides: str | None = None
