"""From the share of a GPU to the bytes that the cache may have, and what the engine says when they are too few."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.ledger import Interval, Refusal, exactly
from kvplan.engines.vllm import log
from kvplan.engines.vllm.pool import Pool
from kvplan.engines.vllm.profile import Profile
from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.settings import Settings


class Taken(NamedTuple):
    """What one rank holds beside its cache: weights, and what its profile run found."""

    weights: Interval
    profile: Profile


def requested_bytes(total: int, settings: Settings) -> int:
    """The share of the GPU's total. Source: vllm 0.33 v1/worker/utils.py, request_memory."""
    return math.ceil(total * settings.gpu_memory_utilization)


def available(settings: Settings, node: Node, taken: Sequence[Taken]) -> tuple[Interval, ...] | None:
    """Bytes for the cache on one rank of each stage, negative where nothing is left; None where no GPU is known.

    Source: vllm 0.33 v1/worker/gpu_worker.py, determine_available_memory.
    """
    if settings.kv_cache_memory_bytes is not None:
        return tuple(exactly(settings.kv_cache_memory_bytes) for _ in taken)
    if not node.gpus:
        return None
    return tuple(_left(requested_bytes(_total(node, stage, settings), settings), held) for stage, held in enumerate(taken))


def _total(node: Node, stage: int, settings: Settings) -> int:
    """The total of the smallest GPU of a stage."""
    gpus = node.gpus[stage * settings.tp : (stage + 1) * settings.tp] or node.gpus[-1:]
    return min(gpu.cuda_bytes for gpu in gpus)


def _left(requested: int, held: Taken) -> Interval:
    used = held.weights.plus(held.profile.budgeted)
    return Interval(requested - used.high, requested - used.best, requested - used.low)


def start_refusals(settings: Settings, node: Node, taken: Sequence[Taken]) -> tuple[Refusal, ...]:
    """No to the share of the GPU, or weights that are larger than it."""
    found: list[Refusal] = []
    for stage, held in enumerate(taken if node.gpus else ()):
        total = _total(node, stage, settings)
        before = held.profile.context.best + max(node.used_before_bytes, default=0)
        requested = requested_bytes(total, settings)
        if total - before < requested:
            found.append(log.not_free(total - before, total, settings.gpu_memory_utilization, requested))
        if held.weights.best > total - before:
            found.append(log.weights_too_large(held.weights.best, total))
    return tuple(found[:1])


def fitted_len(settings: Settings, pool: Pool, budgets: Sequence[int]) -> int:
    """max_model_len that the engine runs with: as asked, or what fits where it may choose; 0 where nothing does.

    Source: vllm 0.33 v1/core/kv_cache_planning.py, _auto_fit_max_model_len.
    """
    if not settings.auto_fit:
        return settings.max_model_len
    checked = pool.checked(budgets, settings.num_gpu_blocks_override)
    return min((pool.longest(budget, stage, settings.max_model_len) for budget, stage in checked), default=settings.max_model_len)


def cache_refusals(settings: Settings, pool: Pool, budgets: Sequence[int], rules: Rules) -> tuple[Refusal, ...]:
    """What the fit check of the cache says.

    Source: vllm 0.33 v1/core/kv_cache_planning.py, get_kv_cache_configs and _check_enough_kv_cache_memory.
    """
    checked = pool.checked(budgets, settings.num_gpu_blocks_override)
    if settings.auto_fit:
        return () if fitted_len(settings, pool, budgets) else (log.no_token(),)
    for budget, stage in checked:
        if budget <= 0:
            return (log.no_memory(rules),)
        needed = pool.needed_bytes(settings.max_model_len, stage)
        if needed > budget:
            longest = pool.longest(budget, stage, settings.max_model_len)
            return (log.too_long(settings.max_model_len, needed, budget, longest, rules),)
    return ()
