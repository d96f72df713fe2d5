"""Scales and ticks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.render.html.figures import percent
from kvplan.render.html.scale import Linear, Log, path, thinned, ticks


@pytest.mark.parametrize(
    ("high", "marks"),
    [
        pytest.param(22.03, (0, 5, 10, 15, 20, 25), id="a card"),
        pytest.param(79.2, (0, 20, 40, 60, 80), id="a large card"),
        pytest.param(0.31, (0, 0.1, 0.2, 0.3, 0.4), id="less than one"),
        pytest.param(1000, (0, 200, 400, 600, 800, 1000), id="its end is a tick"),
        pytest.param(0, (0, 1), id="nothing"),
    ],
)
def test_ticks_are_round(high: float, marks: tuple[float, ...]) -> None:
    assert ticks(high) == marks


@given(st.floats(1e-6, 1e15))
def test_ticks_hold_the_value_and_are_few(high: float) -> None:
    marks = ticks(high)
    assert marks[0] == 0
    assert marks[-1] >= high * (1 - 1e-6)
    assert 2 <= len(marks) <= 7
    assert list(marks) == sorted(set(marks))


@given(st.floats(0, 1e12), st.floats(1, 1e12))
def test_a_linear_scale_keeps_shares(value: float, high: float) -> None:
    assert Linear(0, high).at(value) == pytest.approx(100 * value / high)
    assert Linear(high, 0).at(value) == pytest.approx(100 - 100 * value / high)


def test_doublings_are_equally_wide() -> None:
    scale = Log(1024, 16384)
    assert [scale.at(value) for value in (1024, 2048, 4096, 16384)] == pytest.approx([0, 25, 50, 100])
    assert Log(8, 8).at(8) == 50


def test_a_scale_without_width_does_not_fail() -> None:
    assert Linear(0, 0).at(0) == 0


@pytest.mark.parametrize(
    ("n_values", "shown"),
    [(0, []), (1, [0]), (10, list(range(10))), (11, [0, 2, 4, 6, 8, 10]), (40, [0, 4, 8, 12, 16, 20, 24, 28, 32, 36])],
)
def test_labels_are_thinned(n_values: int, shown: list[int]) -> None:
    assert list(thinned(n_values, n_most=10)) == shown


def test_coordinates() -> None:
    assert path([(0, 1.23456), (50, 2)]) == "M0,1.23L50,2"
    assert percent(12.34567) == "12.346%"
    assert percent(float("inf")) == "0%"
