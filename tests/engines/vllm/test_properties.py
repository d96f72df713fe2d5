"""What holds for any setting: more memory never means fewer blocks, more ranks never heavier ones, inverses are exact."""

from hypothesis import given
from hypothesis import strategies as st

import kvplan
from kvplan.core.units import GIB
from kvplan.core.workload import Workload
from kvplan.engines.vllm.cache import cache
from kvplan.engines.vllm.deployment import Deployment
from kvplan.engines.vllm.rules import engine_rules
from kvplan.engines.vllm.weights import by_stage
from tests.engines.vllm.resolving import NOWHERE, card, settled

NAMES = ("llama-2-7b", "gemma-3-27b", "granite-4.0-h-tiny", "deepseek-v2-lite", "mixtral-8x7b", "gpt-oss-20b", "deepseek-v4-flash")
MODELS = {name: kvplan.load_model(name) for name in NAMES}
HOPPER = (9, 0)
POOLS = st.integers(1, 40 * GIB)
model_names = st.sampled_from(sorted(MODELS))


@given(model_names, POOLS, st.integers(1, GIB))
def test_more_memory_never_means_less_cache(name: str, pool: int, more: int) -> None:
    settings = settled("--max-model-len 8192", model=MODELS[name])
    found = [
        Deployment(MODELS[name], settings._replace(kv_cache_memory_bytes=n_bytes), card("h100-sxm")).capacity(Workload(8192, 1, 8191))
        for n_bytes in (pool, pool + more)
    ]
    less, most = found
    assert less is not None
    assert most is not None
    assert (less.n_blocks or 0) <= (most.n_blocks or 0)
    assert (less.max_ctx_tokens or 0) <= (most.max_ctx_tokens or 0)
    assert (less.max_batch or 0) <= (most.max_batch or 0)


@given(model_names, POOLS)
def test_the_longest_context_is_the_last_that_passes(name: str, pool: int) -> None:
    settings = settled(model=MODELS[name])._replace(kv_cache_memory_bytes=pool)
    found = cache(MODELS[name], settings, engine_rules("0.33.0"), HOPPER).pool
    ((budget, stage),) = found.checked((pool,), None)
    limit = MODELS[name].max_ctx_tokens or 2**20
    longest = found.longest(budget, stage, limit)
    if longest:
        assert found.needed_bytes(longest, stage) <= budget
    if longest < limit:
        assert found.needed_bytes(longest + 1, stage) > budget


@given(model_names, st.sampled_from([1, 2, 4]))
def test_more_ranks_never_make_one_heavier(name: str, tp: int) -> None:
    settings = settled(model=MODELS[name])
    fewer, more = (by_stage(MODELS[name], settings._replace(tp=ways), HOPPER)[0] for ways in (tp, 2 * tp))
    assert more <= fewer


@given(model_names, st.integers(1, 2**17), st.integers(1, 64))
def test_a_workload_needs_what_its_blocks_take(name: str, ctx: int, batch: int) -> None:
    found = Deployment(MODELS[name], settled(model=MODELS[name]), NOWHERE)
    load = Workload(ctx, batch, ctx)
    assert found.need_bytes("gpu0", load).best - found.need_bytes("gpu0", load._replace(batch=1)).best == (
        found.kv(load).reserved_bytes - found.kv(load._replace(batch=1)).reserved_bytes
    )
