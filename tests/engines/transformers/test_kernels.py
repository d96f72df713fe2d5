"""Which attention kernel runs, and what it holds.

Source of the choices: PyTorch 2.13 sdp_utils.cpp and transformers 5.24 integrations/sdpa_attention.py.
"""

import pytest

from kvplan.core.mixers.cross import CrossAttention
from kvplan.core.mixers.mamba1 import Mamba1
from kvplan.core.mixers.mla import Mla
from kvplan.engines.transformers.kernels import Context, Moment, Shape, choose, moments, shape_of
from kvplan.engines.transformers.lines import Chunks, Line, Point, binding, largest, peak, unbeaten

RUN = Context("sdpa", "repeated", 2, bfloat16=True, capability=(8, 0), decoding=False, masked=False, packs_queries=True)
GROUPED, EQUAL = Shape(8, 2, 64, 64), Shape(8, 8, 64, 64)
WIDTHS = {"Q": 512, "O": 512}


@pytest.mark.parametrize(
    ("shape", "run", "kernel", "repeats"),
    [
        pytest.param(GROUPED, RUN, "flash", False, id="no mask: flash reads keys in groups"),
        pytest.param(GROUPED, RUN._replace(masked=True), "efficient", True, id="a mask: keys repeated"),
        pytest.param(GROUPED, RUN._replace(masked=True, decoding=True), "efficient", False, id="decoding under a mask: queries packed"),
        pytest.param(
            GROUPED, RUN._replace(masked=True, decoding=True, packs_queries=False), "efficient", True, id="before 5.23: keys repeated"
        ),
        pytest.param(GROUPED, RUN._replace(elem_bytes=4, bfloat16=False), "math", False, id="float32 in groups"),
        pytest.param(GROUPED, RUN._replace(capability=(7, 5)), "math", False, id="T4: math repeats keys by itself"),
        pytest.param(GROUPED, RUN._replace(capability=(7, 5), masked=True), "math", True, id="T4, a mask: keys repeated before"),
        pytest.param(EQUAL, RUN._replace(elem_bytes=4, bfloat16=False), "efficient", False, id="float32, equal heads"),
        pytest.param(EQUAL, RUN._replace(capability=(7, 0), bfloat16=False), "efficient", False, id="V100, float16"),
        pytest.param(EQUAL, RUN._replace(capability=(7, 0)), "math", False, id="V100, bfloat16"),
        pytest.param(EQUAL, RUN._replace(capability=None), "flash", False, id="unknown card"),
        pytest.param(Shape(8, 8, 192, 128), RUN, "efficient", False, id="latent attention: unequal head dims"),
        pytest.param(Shape(8, 2, 512, 512), RUN, "efficient", True, id="heads too wide for flash"),
        pytest.param(Shape(8, 8, 300, 300), RUN, "math", False, id="a head dim that 8 doesn't divide"),
        pytest.param(GROUPED, RUN._replace(attn="eager"), "eager", True, id="eager repeats"),
        pytest.param(EQUAL, RUN._replace(attn="eager"), "eager", False, id="eager, nothing to repeat"),
        pytest.param(GROUPED, RUN._replace(attn="eager", kv_heads="shared"), "eager", False, id="eager, shared"),
        pytest.param(GROUPED, RUN._replace(attn="flash_attention_2", masked=True), "flash", False, id="flash_attention_2 knows windows"),
        pytest.param(GROUPED, RUN._replace(kv_heads="broadcast"), "math", False, id="broadcast leaves math"),
    ],
)
def test_choice(shape: Shape, run: Context, kernel: str, repeats: bool) -> None:  # noqa: FBT001 - a parameter of the case
    assert choose(shape, run) == (kernel, repeats)


def test_flash_pads_head_dims_in_copies() -> None:
    (plain,) = moments(EQUAL, RUN, Moment(0), Moment(0), WIDTHS)
    (padded,) = moments(Shape(8, 8, 60, 60), RUN, Moment(0), Moment(0), WIDTHS)
    assert plain.token == 2 * 512 + 4 * 8
    assert padded.token == plain.token + 2 * 512
    assert padded.attended == 2 * 2 * 512


def test_masked_attention_makes_a_bias_for_each_layer() -> None:
    after, before = moments(Shape(8, 8, 192, 128), RUN._replace(masked=True), Moment(10), Moment(0), WIDTHS)
    assert after[:-1] == Moment(10 + 2 * 1024 + 4 * 1024, padded=2)[:-1]  # float32 accumulator: head dims beyond 128
    assert before[:-1] == Moment(10, pair=2, ragged=2)[:-1]


def test_math_holds_float32_scores_three_times() -> None:
    product, softmax, *ends = moments(GROUPED, RUN._replace(elem_bytes=4, bfloat16=False), Moment(0), Moment(0), WIDTHS)
    repeated = 4 * 2 * 512  # keys and values for each query head, float32 as they are
    assert (product.token, product.attended) == (2 * 4 * 512, repeated + 4 * 512)  # queries scaled, and in rows; keys scaled
    assert (softmax.token, softmax.attended) == (4 * 512, repeated)
    assert (product.pair, softmax.pair) == (4 * 8, (3 * 4 + 1) * 8)  # scores; two softmaxes and a truth value for each beside them
    assert product.square == softmax.square == 4  # its own causal mask
    assert [(end.token, end.pair) for end in ends] == [(2 * 4 * 512, 4 * 8)] * 2  # the output, and scores
    decoding = moments(GROUPED, RUN._replace(elem_bytes=4, bfloat16=False, decoding=True), Moment(0), Moment(0), WIDTHS)
    assert {(moment.square, moment.token) for moment in decoding[:2]} == {(0, 4 * 512)}


def test_math_copies_half_precision_to_float32() -> None:
    _, softmax, *_ = moments(GROUPED, RUN._replace(capability=(7, 5)), Moment(0), Moment(0), WIDTHS)
    assert (softmax.token, softmax.attended) == (2 * 4 * 512, 4 * 2 * 128 + 4 * 2 * 512)  # keys and values as they are, and repeated
    _, masked, *_ = moments(GROUPED, RUN._replace(capability=(7, 5), masked=True), Moment(0), Moment(0), WIDTHS)
    assert masked.attended == 2 * 2 * 512 + 4 * 2 * 512  # repeated in half precision before
    assert (masked.square, masked.pair) == (0, 2 + (3 * 4 + 1) * 8)
    product, broadcast, valued, _ = moments(GROUPED, RUN._replace(kv_heads="broadcast"), Moment(0), Moment(0), WIDTHS)
    assert broadcast.attended == 4 * 2 * 128
    assert product.attended == 4 * 2 * 128 + 4 * 128 + 4 * 512  # scaled, then copied for each query head
    assert valued.attended == 4 * 2 * 128 + 4 * 512  # values copied likewise
    lone, _, its_values, _ = moments(GROUPED, RUN._replace(kv_heads="broadcast", alone=True), Moment(0), Moment(0), WIDTHS)
    assert (lone.attended, its_values.attended) == (4 * 2 * 128 + 4 * 128, 4 * 2 * 128)  # views are enough for one sequence
    packed = RUN._replace(decoding=True, packs_queries=True)
    product, *_ = moments(Shape(8, 2, 300, 300), packed, Moment(0), Moment(0), WIDTHS)
    assert product.attended == 4 * 2 * 600 + 4 * 600  # packed queries need no repeated keys


def test_eager_products_copy_shared_keys() -> None:
    found, product = moments(GROUPED, RUN._replace(attn="eager", kv_heads="shared"), Moment(0), Moment(3, 5), WIDTHS)
    assert (found.token, found.pair) == (3, 5)
    assert (product.pair, product.attended) == (2 * 8, 2 * 512)


def test_a_single_kv_head_is_expanded_into_a_view() -> None:
    eager, single = RUN._replace(attn="eager"), GROUPED._replace(n_kv_heads=1)
    found, product = moments(single, eager, Moment(0), Moment(3, 5), WIDTHS)
    assert (found.attended, product.attended) == (0, 2 * 512)  # the product copies it for each query head
    (alone,) = moments(single, eager._replace(alone=True), Moment(0), Moment(3, 5), WIDTHS)
    assert alone.attended == 0
    repeated, *_ = moments(GROUPED, eager, Moment(0), Moment(3, 5), WIDTHS)
    assert repeated.attended == 2 * 2 * 512


def test_shapes() -> None:
    assert shape_of(Mla(8, 32, 4, 16, 12, None)) == Shape(8, 8, 20, 12)
    assert shape_of(CrossAttention(8, 2, 16, 50)) == Shape(8, 2, 16, 16)
    assert shape_of(Mamba1(32, 16, 4, 8)) is None


def test_larger_moments_replace_smaller_ones() -> None:
    small, large, other = Moment(1, 1, what="small"), Moment(2, 1, what="large"), Moment(0, 5)
    assert largest([small, large, other, large]) == [large, other]


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        pytest.param(Moment(3), 3 * 2 * 9, id="per token"),
        pytest.param(Moment(0, pair=3), 3 * 2 * 9 * 9, id="per pair"),
        pytest.param(Moment(0, attended=3), 3 * 2 * 9, id="per token attended to"),
        pytest.param(Moment(0, square=3), 3 * 9 * 9, id="per pair, for all sequences at once"),
        pytest.param(Moment(0, padded=3), 3 * 2 * 9 * 16, id="padded to 8"),
        pytest.param(Moment(0, padded=3, ragged=1), 4 * 2 * 9 * 16, id="and copied, off a multiple of 8"),
    ],
)
def test_lines(moment: Moment, expected: int) -> None:
    line = Line(moment, 0, (5,), (7,), row=11)
    point = Point(2, 9, (10,), (20,), (9,))
    assert peak((line,), point) == expected + 2 * (5 * 10 + 7 * 20 + 11)
    assert peak((line, Line(Moment(0), 0, (), ())), point) == peak((line,), point)
    assert binding((Line(Moment(0), 0, (), ()), line), point) == line


def test_alignment_can_be_assumed() -> None:
    line = Line(Moment(0, padded=3, ragged=1), 0, (), ())
    aligned = Point(1, 16, (), (), (16,))
    assert peak((line,), aligned) == 3 * 16 * 16
    assert peak((line,), aligned, ragged=True) == 4 * 16 * 16


def test_scans_round_up_to_chunks() -> None:
    line = Line(Moment(3), 0, (), (), row=5, chunks=Chunks(64, 7))
    assert peak((line,), Point(2, 65, (), (), ())) == 2 * (3 * 65 + 5 + 2 * 7)


def test_lines_that_a_later_one_covers_go() -> None:
    early, late = Line(Moment(2), 0, (1,), (0,)), Line(Moment(3), 0, (2,), (0,))
    elsewhere, rowed = Line(Moment(1), 1, (1,), (0,)), Line(Moment(1), 0, (1,), (0,), row=5)
    assert unbeaten([early, elsewhere, rowed, late]) == (elsewhere, rowed, late)
