"""What versions of vLLM can differ in."""

from typing import Literal, NamedTuple

Setting = Literal["never", "off", "on"]


class Rules(NamedTuple):
    """Behavior from version ``since`` on.

    ``v1``: the engine of that name runs; before it V0, whose pool, defaults and words differ. ``gpu_memory_utilization`` is the
    default. ``estimates_graphs``: whether the profile run can subtract CUDA graphs, and does by default. ``tokens_by_concurrency``:
    the log's tokens are concurrency × max_model_len, before it blocks shared among the groups. ``one_capacity_line``: it prints
    tokens and concurrency in one line. ``reserves_in_flight``: windows reserve the tokens of all batches in flight, not of one.
    ``reserves_null_block``: the fit check leaves a block out. ``names_longest``: its refusal says which length would fit.
    ``retains_for_drafts``: windows keep more where several next-token layers draft. ``chunks_together``: chunked attention is kept
    as if it were full, always or where a drafter reads the model's states; ``transfers_together``: so is all where blocks are
    sent elsewhere, by any connector or by those that can't take several kinds. ``packs_sparse``: sparse latents are packed in fp8
    by default; ``fp8_on_blackwell``: those of some classes are kept in fp8 there.
    ``auto_fit``: --max-model-len -1 takes what fits. ``yarn_from_original``: YaRN's factor stretches its original length, later the
    limit is taken as stretched. ``has_v2``: there is a V2 model runner; ``runner``: models that it serves by default.
    ``async_scheduling``: it is the default; ``async_pp``: with pipeline stages, too. ``hybrid_prefix_caching``: hybrids cache
    prefixes by default. ``mamba_cache``: what Mamba layers then keep: the state of every block (``all``, others keep no prefix), the
    same where others keep what is aligned to blocks (``either``), or all the latter (``align``). ``profile``: which measured
    overheads hold. ``group_ratio``: groups are as wide as the largest bucket of layers where that is less than so many times the
    smallest; 0 where every layer is kept as full attention. ``exports_states``: prefills keep a block more for the states they
    export. ``needs_by_group``: the fit check counts what groups waste. ``words``: how its refusals are put. ``latent_blocks``: tokens
    that blocks of latents are forced to be multiples of, on Hopper and on data-center Blackwell; 0 where the kernel decides.
    ``swap_space_gib``: what V0 pins of the host's memory. ``float32_in_half``: such checkpoints run in float16.
    ``matches_cache_type``: a cache in 16 bits must have the model's type.

    Defaults of the batch: ``small_a100``: an A100 gets those of a small GPU. ``large_gpu``: from 160 GiB on the largest.
    ``small_gb10``: a GB10 gets the small ones, too. ``clips_batch``: they are clipped to what the sequences can fill.
    ``batched_experts``: fewer where replicas swap whole batches of tokens. Captured batch sizes: ``graph_step`` beyond 256;
    ``wide_graphs``: up to 1024 on data-center Blackwell; ``decode_graphs``: also every width of a decode batch.
    """

    since: str
    source: str
    v1: bool
    gpu_memory_utilization: float = 0.9
    estimates_graphs: Setting = "never"
    tokens_by_concurrency: bool = False
    one_capacity_line: bool = False
    reserves_in_flight: bool = False
    reserves_null_block: bool = False
    retains_for_drafts: bool = False
    chunks_together: Literal["never", "always", "drafted"] = "never"
    transfers_together: Literal["never", "all", "some"] = "never"
    packs_sparse: bool = False
    fp8_on_blackwell: bool = False
    names_longest: bool = True
    auto_fit: bool = False
    yarn_from_original: bool = True
    matches_cache_type: bool = False
    batched_experts: bool = False
    has_v2: bool = False
    runner: Literal["v1", "dense", "any"] = "v1"
    async_scheduling: bool = False
    async_pp: bool = False
    hybrid_prefix_caching: bool = False
    mamba_cache: Literal["never", "all", "either", "align"] = "never"
    profile: Literal["0.6", "0.9", "0.17", "0.20", "0.29"] = "0.9"
    group_ratio: float = 0.0
    exports_states: bool = False
    needs_by_group: bool = False
    words: Literal["v0", "plain", "docs", "cpu"] = "v0"
    latent_blocks: tuple[int, int] = (0, 0)
    small_a100: bool = True
    large_gpu: bool = False
    small_gb10: bool = False
    clips_batch: bool = False
    swap_space_gib: float = 0.0
    float32_in_half: bool = False
    graph_step: int = 8
    wide_graphs: bool = False
    decode_graphs: bool = False
