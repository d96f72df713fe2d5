import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan import perf
from kvplan.perf import Demand, Growth, Machine, Traffic, performance
from kvplan.perf.efficiency import APART, REREAD, SCORE_PASSES_BYTES, Efficiency, efficiency
from kvplan.perf.roofline import decode_step, overlap, packed
from kvplan.perf.steps import Prompts, Step, cache_bytes, decode, linking_s, moved_bytes, prefill, prefill_flops, product_rate, touched

DENSE = Traffic(32, 14e9, 13e9, 0.25e9, (Growth(131072, 524288, 1024, 4.0),), 8192)
MIXTURE = DENSE._replace(dense_bytes=2e9, token_flops=2e9, expert_bytes=32e9, expert_flops=4e9, n_experts=64, n_active=4, n_moe_layers=32)
H100 = Machine("hbm", 3.35e12, 989e12, 989e12, link_bandwidth=900e9)
IDEAL = Efficiency(mbu=1.0, mfu=1.0, layer_s=0.0, spread=1.0, source="", link=1.0, link_s=0.0, expert_mfu=1.0)
CLASSES = [
    (engine, memory)
    for engine in (perf.EAGER, perf.LAUNCHED, perf.SERVED, perf.GGML, perf.COMPILED)
    for memory in ("hbm", "gddr", "unified")
]
DEMANDS = st.builds(
    lambda batch, prompt, output, cached, chunk, eager, together: Demand(
        batch, prompt, output, min(cached, prompt), chunk, eager, together
    ),
    st.integers(1, 512),
    st.integers(1, 200_000),
    st.integers(1, 5_000),
    st.integers(0, 200_000),
    st.sampled_from([512, 2048, 8192, 2**31]),
    st.booleans(),
    st.booleans(),
)


@pytest.mark.parametrize("where", CLASSES, ids=lambda where: "-".join(where))
def test_every_class_says_where_its_constants_come_from(where: tuple[str, str]) -> None:
    found = efficiency(*where)
    assert found.source
    assert 0 < found.mbu <= 1
    assert 0 < found.mfu <= 1
    assert found.spread >= 1


@given(st.sampled_from(CLASSES), DEMANDS, st.sampled_from([DENSE, MIXTURE]), st.sampled_from([1, 2, 8]), st.sampled_from([1, 4]))
def test_a_range_holds_its_best_guess(where: tuple[str, str], demand: Demand, traffic: Traffic, tp: int, pp: int) -> None:
    found = performance(traffic, H100._replace(memory=where[1], tp=tp, pp=pp), demand, where[0])
    for low, best, high in (found.ttft_s, found.tpot_s, found.decode_tokens_per_s, found.requests_per_s):
        assert 0 < low < best < high
    assert found.of == (traffic, H100._replace(memory=where[1], tp=tp, pp=pp), demand, where[0])


@given(st.sampled_from([perf.SERVED, perf.GGML, perf.EAGER]), DEMANDS, st.sampled_from([DENSE, MIXTURE]))
def test_more_to_do_is_never_faster_and_a_better_card_never_slower(engine: str, demand: Demand, traffic: Traffic) -> None:
    found = performance(traffic, H100, demand, engine)
    for harder in (demand._replace(batch=demand.batch + 1), demand._replace(prompt_tokens=demand.prompt_tokens + 1)):
        slower = performance(traffic, H100, harder, engine)
        assert slower.tpot_s.best >= found.tpot_s.best
        assert slower.ttft_s.best >= 0.999 * found.ttft_s.best
    for better in (H100._replace(bandwidth=7e12), H100._replace(flops=2e15, product_flops=2e15)):
        faster = performance(traffic, better, demand, engine)
        assert faster.tpot_s.best <= found.tpot_s.best
        assert faster.ttft_s.best <= found.ttft_s.best


def test_a_step_of_one_sequence_reads_weights_and_cache_at_the_cards_bandwidth() -> None:
    found = decode(DENSE, H100, IDEAL, Step(1, 10_000))
    assert found.total == pytest.approx((14e9 + 131072 * 10_000) / 3.35e12)


def test_a_step_of_many_waits_for_products() -> None:
    found = decode(DENSE, H100, IDEAL, Step(1000, 1))
    assert found.multiplying == pytest.approx(1000 * 13.25e9 / 989e12)
    assert found.total == pytest.approx(found.multiplying + found.attending)


def test_from_the_crossover_on_products_take_longer() -> None:
    least = perf.crossover(perf.Question(DENSE, H100, Demand(1, 1, 1), perf.SERVED))
    eff = efficiency(perf.SERVED, "hbm")
    below, above = (decode(DENSE, H100, eff, Step(least * by, 1)) for by in (0.99, 1.01))
    assert below.reading > below.multiplying
    assert above.reading < above.multiplying


def test_a_batch_touches_experts_as_often_as_chance_has_it() -> None:
    assert touched(DENSE, 8) == 0
    assert touched(MIXTURE, 1) == pytest.approx(4 / 64)
    assert touched(MIXTURE, 2) == pytest.approx(1 - (60 / 64) ** 2)
    assert moved_bytes(MIXTURE, 10_000) == pytest.approx(34e9)


def test_a_window_bounds_what_a_step_reads_and_a_prompt_multiplies() -> None:
    windowed = DENSE._replace(growth=(Growth(100, 1000, 8, 1.0, 512),))
    assert cache_bytes(windowed.growth, 100) == 100 * 100
    assert cache_bytes(windowed.growth, 10_000) == 100 * 512
    pairs = [prefill(windowed, H100, IDEAL, Prompts(*span)).attending * 989e12 / 1000 for span in ((0, 512), (512, 1024), (0, 1024))]
    assert pairs == pytest.approx([512 * 256, 512 * 512, 512 * 256 + 512 * 512])


def test_eager_attention_moves_its_scores_and_reads_shared_keys_again() -> None:
    plain, eager = (prefill(DENSE, H100, IDEAL, Prompts(0, 1000, eager_scores=eager)).attending for eager in (False, True))
    assert eager - plain == pytest.approx(SCORE_PASSES_BYTES * 1024 * 1000 * 500 / 3.35e12)
    plain, eager = (decode(DENSE, H100, IDEAL, Step(1, 1000, eager)).attending for eager in (False, True))
    assert eager / plain == pytest.approx(1 + 3 * REREAD)


def test_a_narrow_type_does_not_give_all_that_it_promises() -> None:
    eff = IDEAL._replace(narrow=0.7)
    assert product_rate(H100, eff) == 989e12
    assert product_rate(H100._replace(product_flops=4 * 989e12), eff) == pytest.approx(4 * 989e12 * 0.49)


def test_ranks_that_share_layers_send_their_rows_twice_a_layer() -> None:
    two = H100._replace(tp=2)
    assert linking_s(DENSE, H100, IDEAL, 1) == 0
    assert linking_s(DENSE, two, IDEAL, 100) == pytest.approx(2 * 32 * 100 * 8192 / 450e9)
    assert linking_s(DENSE, two, IDEAL._replace(link_s=1e-5), 0) == pytest.approx(64e-5)


def test_where_several_cards_work_the_range_is_wider() -> None:
    one, two = (performance(DENSE, H100._replace(tp=tp), Demand(1, 100, 100), perf.SERVED).tpot_s for tp in (1, 2))
    assert two.high / two.low == pytest.approx(APART**2 * one.high / one.low)


def test_a_shared_prefix_is_not_read_again() -> None:
    fresh, cached = (performance(DENSE, H100, Demand(1, 8000, 10, n), perf.SERVED).ttft_s.best for n in (0, 7000))
    assert cached < fresh / 4
    assert performance(DENSE, H100, Demand(1, 8000, 10, 8000), perf.SERVED).ttft_s.best > 0


def test_short_prompts_share_a_pass_and_long_ones_take_several() -> None:
    assert packed(Demand(64, 100, 1, chunk_tokens=1000), 64) == Prompts(0, 100, 10, 1)
    assert packed(Demand(64, 2500, 1, 500, chunk_tokens=1000), 64) == Prompts(500, 2500, 1, 2)
    assert packed(Demand(64, 2500, 1, chunk_tokens=1000, together=True), 64) == Prompts(0, 2500, 64, 1)


def test_chunks_read_the_weights_again() -> None:
    whole, parts = (prefill(DENSE, H100, IDEAL, Prompts(0, 64, 1, n)) for n in (1, 4))
    assert parts.reading == pytest.approx(4 * whole.reading)
    assert parts.multiplying == whole.multiplying


def test_stages_work_on_parts_of_a_batch_where_the_engine_lets_them() -> None:
    four = H100._replace(pp=4)
    split, whole = (
        decode_step(DENSE, four, IDEAL._replace(pipelines=pipelines), Demand(400, 1, 1)).multiplying for pipelines in (True, False)
    )
    assert whole == pytest.approx(4 * split)
    assert decode_step(DENSE, four, IDEAL, Demand(1, 1, 1)) == decode_step(DENSE, H100, IDEAL, Demand(1, 1, 1))


def test_passes_that_follow_each_other_keep_stages_busy() -> None:
    eff = IDEAL._replace(overlap=1.0, in_flight=4)
    assert overlap(1, 100, eff) == 1
    assert overlap(2, 1, eff) == 1
    assert overlap(2, 2, eff) == pytest.approx(4 / 3)
    assert overlap(2, 100, eff) == overlap(2, 4, eff) == pytest.approx(8 / 5)


def test_replicas_add_up() -> None:
    one, two = (performance(DENSE, H100._replace(dp=dp), Demand(4, 100, 100), perf.SERVED) for dp in (1, 2))
    assert two.decode_tokens_per_s.best == pytest.approx(2 * one.decode_tokens_per_s.best)
    assert two.requests_per_s.best == pytest.approx(2 * one.requests_per_s.best)
    assert two.tpot_s == one.tpot_s


def test_prompts_that_go_together_are_all_waited_for() -> None:
    one, four = (performance(DENSE, H100, Demand(n, 4000, 10, together=True), perf.EAGER).ttft_s.best for n in (1, 4))
    assert 2 < four / one < 4


def test_a_prompt_s_operations_add_up_part_by_part() -> None:
    whole = prefill_flops(DENSE, 0, 1000)
    assert prefill_flops(DENSE, 0, 400) + prefill_flops(DENSE, 400, 1000) == pytest.approx(whole)
    assert whole == pytest.approx(1000 * (13e9 + 524288 * 500))  # products, and attention over 500 tokens in the mean
    assert prefill_flops(DENSE, 7, 7) == 0
    windowed = DENSE._replace(growth=(DENSE.growth[0]._replace(window_tokens=100),))
    assert prefill_flops(windowed, 500, 600) == pytest.approx(100 * (13e9 + 524288 * 100))
