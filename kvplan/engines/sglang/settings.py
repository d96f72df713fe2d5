"""What was settled for a server of SGLang."""

from typing import NamedTuple


class Settings(NamedTuple):
    """Every setting that bears on memory, resolved.

    ``context_length`` is None where the command says none: then the model's limit holds. ``attention_dp`` is how many ways attention is
    spread by sequences; ``dp`` counts whole replicas. ``chunked_prefill_size`` is in tokens, -1 where prompts are not cut. ``windows``:
    layers with a window may have a pool of their own. ``swa_per_mille`` and ``mamba_per_mille`` are the two ratios in thousandths.
    ``overrides`` is a JSON object of config keys put over the model's own.
    """

    version: str
    model: str
    context_length: int | None
    dtype: str
    quantization: str | None
    kv_cache_dtype: str
    mem_fraction_static: float
    tp: int
    pp: int
    dp: int
    attention_dp: int
    max_running_requests: int | None
    max_total_tokens: int | None
    chunked_prefill_size: int
    graph_batches: int
    page_size: int
    radix_cache: bool
    swa_per_mille: int
    windows: bool
    mamba_per_mille: int
    mamba_slots: int | None
    mamba_ssm_dtype: str | None
    speculative: str | None
    overwrites_length: bool
    overrides: str | None
