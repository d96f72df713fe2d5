"""How many blocks many sequences hold at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvplan
from kvplan.core.ledger import Interval, exactly
from kvplan.core.workload import Workload
from kvplan.engines.vllm.demand import Demand, held_blocks, request_blocks
from kvplan.engines.vllm.deployment import Deployment
from kvplan.engines.vllm.slots import Slot
from tests.engines.vllm.resolving import LOAD, NOWHERE, card, settled

H100 = Demand(in_flight=16384, step=8192)
WINDOW = Slot("sliding", 16, 1, window_tokens=1024)
CHUNK = Slot("chunked", 16, 1, window_tokens=8192)
GEMMA = kvplan.load_model("gemma-3-27b")


@pytest.mark.parametrize(
    ("slot", "ctx", "batch", "held"),
    [
        # a window of 64 blocks each, one more where it begins inside a block; 512 blocks of one step; 1024 of two and a cut each
        pytest.param(WINDOW, 32768, 64, Interval(64 * 64, 64 * 65 + 512, 64 * 66 + 1024), id="many share what is in flight"),
        # vLLM's own arithmetic for one: ceil((1023 + 16384) / 16) + 1 = 1089 is less than 66 + 1024
        pytest.param(WINDOW, 32768, 1, Interval(64, 65 + 512, 1089), id="one has it all"),
        # 2048 tokens are 128 blocks, whatever is in flight
        pytest.param(WINDOW, 2048, 2, Interval(128, 256, 256), id="no more than all its tokens"),
        pytest.param(WINDOW, 1000, 3, exactly(3 * 63), id="shorter than the window"),
        # half the tokens of the step lie beyond the windows: 3 · 1024 of 8192
        pytest.param(WINDOW, 2048, 3, Interval(3 * 64, 3 * 65 + 192 - 3, 3 * 128), id="no more than lies beyond the windows"),
        # 8192 / 16 = 512 each; chunks begin where blocks do
        pytest.param(CHUNK, 32768, 4, Interval(4 * 512, 4 * 512 + 512, 4 * 513 + 1024), id="chunks"),
        pytest.param(Slot("full", 16, 1), 1000, 4, exactly(4 * 63), id="full"),
        pytest.param(Slot("state", 0, 1, n_states=3), 1000, 4, exactly(12), id="states"),
    ],
)
def test_blocks_of_many_sequences(slot: Slot, ctx: int, batch: int, held: Interval) -> None:
    assert held_blocks(slot, ctx, batch, H100) == held


def test_drafting_layers_keep_tokens_before_the_window() -> None:
    # 1024 + 16 tokens are 65 blocks, 66 where they begin inside one
    assert held_blocks(WINDOW, 4096, 2, Demand(0, 0, retained=16)) == Interval(2 * 65, 2 * 66, 2 * 66)
    assert request_blocks(WINDOW, 4096, Demand(0, 0, retained=16)) == 66


COUNTS = st.integers(1, 2**17)


@given(st.sampled_from([WINDOW, CHUNK, WINDOW._replace(window_tokens=1000)]), COUNTS, st.integers(1, 64), COUNTS, st.integers(0, 2))
def test_many_never_need_more_than_requests_of_their_own(slot: Slot, ctx: int, batch: int, step: int, batches: int) -> None:
    demand = Demand(batches * step, step)
    held = held_blocks(slot, ctx, batch, demand)
    assert held.low <= held.best <= held.high <= batch * request_blocks(slot, ctx, demand)
    for more in (held_blocks(slot, ctx + 1, batch, demand), held_blocks(slot, ctx, batch + 1, demand)):
        assert all(a <= b for a, b in zip(held, more, strict=True))


def test_what_is_in_flight_counts_once() -> None:
    # Gemma-3-27B: six groups of windows and one of 2048 full blocks, a null block; blocks of 10 layers · 16 tokens · 8192 B
    found = Deployment(GEMMA, settled("--max-model-len 32768", model=GEMMA), card("h100-sxm"))
    plan = found.kv(Workload(32768, 64, 32767))
    assert plan.reserved_bytes == (6 * (64 * 65 + 512) + 64 * 2048 + 1) * 1_310_720
    assert 3 * plan.reserved_bytes < 64 * (6 * 1089 + 2048) * 1_310_720  # what 64 requests would take on their own


def test_blocks_without_a_pool_are_as_sure_as_they_are() -> None:
    kinds = {
        name: next(entry for entry in Deployment(model, settled(model=model), NOWHERE).entries(LOAD) if entry.term == "kv_cache")
        for name, model in (("windows", GEMMA), ("full", kvplan.load_model("llama-2-7b")))
    }
    assert [kinds[name].basis for name in ("windows", "full")] == ["modeled", "exact"]
    assert kinds["windows"].size.low < kinds["windows"].size.high
