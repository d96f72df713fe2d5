"""What vLLM prints about its cache, and what it says when the cache is too small."""

from kvplan.core.ledger import Refusal
from kvplan.core.units import GIB
from kvplan.engines.vllm.rules import Rules

_TRY = "Try increasing `gpu_memory_utilization`"
_DOCS = " See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."
_START = "when initializing the engine"
_NONE_LEFT = {
    "v0": f"No available memory for the cache blocks. {_TRY} {_START}.",
    "plain": f"No available memory for the cache blocks. {_TRY} {_START}.",
    "docs": f"No available memory for the cache blocks. {_TRY} {_START}.{_DOCS}",
    "cpu": f"No available memory for the cache blocks. {_TRY} {_START} (this flag also controls CPU memory reservation on the CPU "
    f"backend, despite its name).{_DOCS}",
}
_ADVICE = {
    "plain": f"{_TRY} or decreasing `max_model_len` {_START}.",
    "docs": f"{_TRY} or decreasing `max_model_len` {_START}.{_DOCS}",
    "cpu": f"{_TRY} (which also controls CPU memory on the CPU backend) or decreasing `max_model_len` {_START}.{_DOCS}",
}
"""Source: vllm 0.9.2, 0.14.1, 0.22.1 and 0.33.0, _check_enough_kv_cache_memory."""


def gib(n_bytes: int) -> str:
    """Two decimals, without trailing zeros beyond the first: 40.0, 1.95."""
    return str(round(n_bytes / GIB, 2))


def capacity_lines(tokens: int, concurrency: float, max_model_len: int, rules: Rules) -> tuple[str, ...]:
    """The lines with the size of the pool. Source: vllm 0.33 v1/core/kv_cache_utils.py, update_kv_cache_capacity."""
    size = f"GPU KV cache size: {tokens:,} tokens"
    most = f"Maximum concurrency for {max_model_len:,} tokens per request: {concurrency:.2f}x"
    return (f"{size}, {most}",) if rules.one_capacity_line else (size, most)


def auto_fit_line(limit: int, fitted: int, budget: int) -> str:
    """What -1 as max_model_len came to."""
    if fitted >= limit:
        return f"Auto-fit max_model_len: full model context length {limit} fits in available KV cache memory ({gib(budget)} GiB GPU)"
    return f"Auto-fit max_model_len: reduced from {limit} to {fitted} to fit in available KV cache memory ({gib(budget)} GiB GPU)"


def no_memory(rules: Rules) -> Refusal:
    """No block at all fits. Source: vllm 0.33 v1/core/kv_cache_planning.py, _check_enough_kv_cache_memory."""
    return Refusal("KV103", "kv_check", _NONE_LEFT[rules.words])


def no_token() -> Refusal:
    """Not even one token fits where -1 asks for what does."""
    return Refusal(
        "KV103",
        "kv_check",
        f"Cannot auto-fit max_model_len: not enough GPU memory available to serve even a single token. {_TRY}.",
    )


def too_long(max_model_len: int, needed: int, budget: int, longest: int, rules: Rules) -> Refusal:
    """One request of ``max_model_len`` does not fit: it takes ``needed`` of ``budget`` bytes; ``longest`` tokens would.

    Source: vllm 0.33 v1/core/kv_cache_planning.py, _check_enough_kv_cache_memory; V0: worker/worker.py,
    raise_if_cache_size_invalid.
    """
    if rules.words == "v0":
        text = (
            f"The model's max seq len ({max_model_len}) is larger than the maximum number of tokens that can be stored in KV "
            f"cache ({longest}). {_TRY} or decreasing `max_model_len` when initializing the engine."
        )
        return Refusal("KV102", "kv_check", text)
    named = f"Based on the available memory, the estimated maximum model length is {longest}. " if longest and rules.names_longest else ""
    whose = "model's" if rules.words == "cpu" else "models's"
    text = (
        f"To serve at least one request with the {whose} max seq len ({max_model_len}), ({gib(needed)} GiB KV cache is needed, "
        f"which is larger than the available KV cache memory ({gib(budget)} GiB). {named}{_ADVICE[rules.words]}"
    )
    return Refusal("KV102", "kv_check", text)


def not_free(free: int, total: int, utilization: float, requested: int) -> Refusal:
    """Less is free at start than the share asks for. Source: vllm 0.33 v1/worker/utils.py, request_memory."""
    text = (
        f"Free memory on device cuda:0 ({gib(free)}/{gib(total)} GiB) on startup is less than desired GPU memory utilization "
        f"({utilization}, {gib(requested)} GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
    )
    return Refusal("KV104", "load", text)


def weights_too_large(weights: int, total: int) -> Refusal:
    """The weights alone are more than the card holds."""
    text = (
        f"torch.OutOfMemoryError: CUDA out of memory. GPU 0 has a total capacity of {gib(total)} GiB; the weights take {gib(weights)} GiB."
    )
    return Refusal("KV105", "load", text)
