"""The batch from which on more of them bring no more tokens per second."""

import pytest

from kvplan import sweep
from kvplan.estimator.knee import Curves, Pace


def made(*rates: float) -> Curves:
    curves = Curves()
    for i, rate in enumerate(rates):
        curves.add(("model", "4k", str(2**i)), Pace(2**i, rate, 10 + 2**i))
    return curves


@pytest.mark.parametrize(
    ("rates", "last", "after"),
    [
        ((10, 20, 40, 80), 8, None),
        ((10, 20, 23, 24), 2, 4),
        ((10, 20, 24, 25), 4, 8),
        ((10, 11, 24, 25), 4, 8),  # a dent on the way up is none
        ((10, 10, 10), 1, 2),
        ((10, 20, 15), 2, 4),
    ],
)
def test_the_knee_is_where_no_doubling_brings_a_fifth_more(rates: tuple[float, ...], last: int, after: int | None) -> None:
    (knee,) = made(*rates).knees
    assert knee.at == ("model", "4k")
    assert knee.last.batch == last
    assert (knee.after and knee.after.batch) == after


def test_two_batches_are_no_curve() -> None:
    assert made(10, 11).knees == ()


def test_points_that_do_not_fit_are_left_out() -> None:
    found = sweep("llama-2-7b", ctx=1024, batch=[1, 2, 4, 640], gpu="rtx-4090", engine="vllm")
    assert [point.starts for point in found.points] == [True, True, True, False]
    assert [(knee.last.batch, knee.after) for knee in found.knees] == [(4, None)]
