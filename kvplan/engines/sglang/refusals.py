"""What SGLang says no to, in its own words where it has some."""

from collections.abc import Iterator

from kvplan.core import rank_costs, serving_checks
from kvplan.core.device import Node
from kvplan.core.ledger import Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.pooled import Rank, sized
from kvplan.core.rank_entries import weights_of
from kvplan.engines.sglang.settings import Settings


def refusals(model: ModelSpec, settings: Settings, node: Node, ranks: tuple[Rank, ...]) -> tuple[Refusal, ...]:
    """The settings first, then the card, then the pool. Source: sglang 0.5.23 srt/configs/model_config.py, _derive_context_length;
    srt/model_executor/pool_configurator.py."""
    n_ranks = settings.tp * settings.pp
    narrow = settings.tp // settings.attention_dp
    found = (
        *_length(model, settings),
        *serving_checks.states(model),
        *serving_checks.split(model, node, settings.tp, n_ranks * settings.dp, attention_tp=narrow),
    )
    if found or not node.gpus:
        return found
    loaded = max((weights_of(rank.beside) for rank in ranks), key=lambda size: size.best)
    return serving_checks.too_large(loaded, rank_costs.context(n_ranks), node) or tuple(_pool(settings, ranks))


def _length(model: ModelSpec, settings: Settings) -> Iterator[Refusal]:
    asked, limit = settings.context_length, _limit(model)
    if asked is not None and limit is not None and asked > limit and not settings.overwrites_length:
        yield Refusal(
            "KV351",
            "config",
            f"Warning: User-specified context_length ({asked}) is greater than the derived context_length ({limit}). This may lead to "
            "incorrect model outputs or CUDA errors. To allow overriding this maximum, set the env var "
            "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1",
        )


def _limit(model: ModelSpec) -> int | None:
    """Positions, which a rope scaling multiplies that doesn't say from how many it stretches.

    Source: sglang 0.5.13 srt/utils/hf_transformers_utils.py, get_context_length.
    """
    stretched = next((rope for rope in model.rope if rope.kind != "llama3" and rope.original_ctx_tokens is None), None)
    return int(model.max_ctx_tokens * stretched.factor) if stretched and model.max_ctx_tokens else model.max_ctx_tokens


def _pool(settings: Settings, ranks: tuple[Rank, ...]) -> Iterator[Refusal]:
    """Nothing left, or too little behind a window for even one request."""
    found, here = sized(ranks, 1), ranks[0].pool
    if not found.tokens and (here.parts or not found.slots):
        text = "Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static="
        yield Refusal("KV350", "kv_check", f"{text}{settings.mem_fraction_static}")
        return
    if here.states is not None and found.slots < here.states.n_each:
        text = f"Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size={found.slots}"
        yield Refusal("KV350", "kv_check", f"{text}. Try: increase --mem-fraction-static, or use GPUs with more memory.")
    windowed = next((part for part in here.parts if part.window_tokens is not None), None)
    room = windowed.tokens(found.tokens, here.page_tokens) if windowed else 0
    if windowed is not None and (windowed.window_tokens or 0) + here.page_tokens >= room:
        text = f"SWA pool ({room} tokens) cannot hold even one request: the prefill admission floor is sliding_window_size"
        yield Refusal("KV350", "kv_check", f"{text} ({windowed.window_tokens}) + page_size ({here.page_tokens}).")
