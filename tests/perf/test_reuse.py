"""Operations with a cache and without, against sums over every token and step."""

import pytest

from kvplan.core.workload import Workload
from kvplan.perf import Growth, Traffic
from kvplan.perf.reuse import Generation, pairs

FULL, WINDOWED = Growth(0.0, 8.0, 4.0), Growth(0.0, 2.0, 4.0, 1.0, 5)
BOTH = Traffic(2, 0.0, 100.0, 30.0, (FULL, WINDOWED), 0, expert_flops=20.0)


def seen(group: Growth, position: int) -> int:
    return min(position, group.window_tokens or position)


@pytest.mark.parametrize("group", [FULL, WINDOWED])
@pytest.mark.parametrize("n_tokens", [0, 1, 4, 5, 6, 40])
def test_pairs_are_what_each_token_sees(group: Growth, n_tokens: int) -> None:
    assert pairs(group, n_tokens) == sum(seen(group, position) for position in range(1, n_tokens + 1))


@pytest.mark.parametrize(("prompt", "ctx"), [(1, 1), (1, 30), (3, 6), (20, 21)])
def test_a_generation_is_the_sum_of_its_passes(prompt: int, ctx: int) -> None:
    made = Generation(BOTH, prompt, ctx)
    again = [Generation(BOTH, prompt, length).last_step(cached=False) for length in range(prompt, ctx + 1)]
    assert made.whole(cached=False) == (sum(work.weights for work in again), sum(work.attention for work in again))
    once = [again[0], *(Generation(BOTH, prompt, length).last_step(cached=True) for length in range(prompt + 1, ctx + 1))]
    assert made.whole(cached=True) == (sum(work.weights for work in once), sum(work.attention for work in once))


def test_twice_the_length_is_four_times_the_attention_and_twice_the_rest() -> None:
    """Kaplan et al. 2020 (arXiv 2001.08361), table 1: 2·N a token for weights, 2·layers·ctx·width for scores and as many for values."""
    llama = Traffic(32, 0.0, 2.0 * 6_476_271_616, 2.0 * 131_072_000, (Growth(524288.0, 2.0 * 32 * 4096 * 2, 1024.0),), 8192)
    now, half = (Generation(llama, n - 1, n).last_step(cached=False) for n in (1024, 512))
    assert now.attention == pytest.approx(32 * 4 * 4096 * 1024 * 1025 / 2)
    assert now.attention / half.attention == pytest.approx(4, rel=0.01)
    assert now.weights / half.weights == pytest.approx(2, rel=0.05)
    cached = Generation(llama, 1023, 1024).last_step(cached=True)
    assert cached == (2.0 * 6_607_343_616, 32 * 4 * 4096 * 1024)


def test_workloads_are_counted_as_they_run() -> None:
    """A prompt, then a pass for each further token: what ``Workload`` calls decode steps."""
    load = Workload(ctx_tokens=30, batch=1, prompt_tokens=20)
    assert Generation(BOTH, 20, 30).whole(cached=True).weights == 30 * 120 + (load.decode_steps + 1) * 30
