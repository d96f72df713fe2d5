"""Blocks that sequences take of a slot: one as the fit check reckons, many as they really lie in the pool."""

from typing import NamedTuple

from kvplan.core.ledger import Interval, exactly
from kvplan.core.units import ceil_div
from kvplan.engines.vllm.slots import Slot


class Demand(NamedTuple):
    """What requests take beside their length.

    ``in_flight`` are the tokens that may be scheduled and not yet settled, ``step`` those of one step, as many as the scheduler
    reserves for an encoder's input: limits over all requests together. ``dcp`` context-parallel ranks share the tokens.
    ``retained`` are the tokens before a window that are kept for drafting.
    """

    in_flight: int
    step: int
    dcp: int = 1
    retained: int = 0


def request_blocks(slot: Slot, max_model_len: int, demand: Demand) -> int:
    """Blocks that vLLM reckons for one sequence of ``max_model_len`` tokens, all that may be in flight with it.

    Source: vllm 0.33 v1/kv_cache_interface.py, max_admission_blocks_per_request and max_memory_usage_bytes.
    """
    if slot.kind == "state":
        return slot.n_states
    if slot.kind == "block_state":
        return ceil_div(max_model_len, slot.block_tokens) + slot.n_states - 1
    if slot.kind == "cross":
        return ceil_div(demand.step, slot.block_tokens)
    if slot.kind == "sliding":
        reach = slot.window_tokens - 1 + demand.retained + demand.in_flight
        return ceil_div(min(reach, max_model_len), slot.block_tokens) + 1
    if slot.kind == "chunked":
        return ceil_div(min(slot.window_tokens + demand.in_flight, max_model_len), slot.block_tokens)
    return ceil_div(ceil_div(max_model_len, demand.dcp) if slot.spread else max_model_len, slot.block_tokens)


def held_blocks(slot: Slot, ctx_tokens: int, batch: int, demand: Demand) -> Interval:
    """Blocks that ``batch`` sequences of ``ctx_tokens`` hold at once; exact but for windows and chunks.

    Those keep a window each from step to step (low), and beyond it what is in flight: the tokens of one step (best), or of every
    batch at work (high), whichever sequences they belong to. A window seldom begins where a block does: one more block each. What
    is in flight may be cut by blocks once more in each sequence.

    Source: vllm 0.33 v1/core/single_type_kv_cache_manager.py, remove_skipped_blocks and get_num_skipped_tokens: blocks before the
    window are freed when the next step is planned; v1/core/sched/scheduler.py: the tokens of a step are a budget over all requests.
    """
    most = batch * request_blocks(slot, ctx_tokens, demand)
    if slot.kind not in ("sliding", "chunked"):
        return exactly(most)
    whole = batch * ceil_div(ctx_tokens, slot.block_tokens)
    window = slot.window_tokens + (demand.retained if slot.kind == "sliding" else 0)
    kept = batch * ceil_div(min(window, ctx_tokens), slot.block_tokens)
    astride = kept + (batch if slot.kind == "sliding" else 0)
    beyond = batch * max(0, ctx_tokens - window)
    high = min(whole, most, astride + batch + ceil_div(demand.in_flight, slot.block_tokens))
    best = min(high, astride + ceil_div(min(demand.step, beyond), slot.block_tokens))
    return Interval(kept, best, high)
