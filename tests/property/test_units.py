"""parse(format(x)) = x, and what is not a size is refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.core.errors import RequestError
from kvplan.core.units import ceil_div, ceil_to, format_count, format_exact, format_size, parse_count, parse_size


@given(st.integers(min_value=1, max_value=2**49))
def test_a_size_survives_its_own_text(n_bytes: int) -> None:
    assert parse_size(format_exact(n_bytes), option="--budget") == n_bytes


@given(st.integers(min_value=1, max_value=2**31 - 1))
def test_a_count_survives_its_own_text(count: int) -> None:
    assert parse_count(format_count(count), option="--ctx") == count


@given(st.integers(min_value=0, max_value=2**60), st.integers(min_value=1, max_value=2**20))
def test_rounding_up_reaches_and_does_not_overshoot(amount: int, step: int) -> None:
    assert ceil_to(amount, step) % step == 0
    assert amount <= ceil_to(amount, step) < amount + step
    assert ceil_div(amount, step) * step == ceil_to(amount, step)


@given(st.text(max_size=12))
def test_any_text_is_a_size_or_refused(text: str) -> None:
    with contextlib.suppress(RequestError):
        assert parse_size(text, option="--budget") > 0


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("24GiB", 24 * 2**30),
        ("24GB", 24 * 10**9),
        ("22.5 gib", 45 * 2**29),
        ("1TiB", 2**40),
        ("1.0001KB", 1000),
    ],
)
def test_sizes(text: str, n_bytes: int) -> None:
    assert parse_size(text, option="--budget") == n_bytes


@pytest.mark.parametrize(("text", "count"), [("32k", 32768), ("1M", 1048576), ("1.5k", 1536), ("7", 7)])
def test_counts(text: str, count: int) -> None:
    assert parse_count(text, option="--ctx") == count


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(0, "0 B"), (1023, "1023 B"), (524288, "512.00 KiB"), (2**40, "1.00 TiB"), (-(2**30), "-1.00 GiB")]
)
def test_shown_sizes(n_bytes: int, text: str) -> None:
    assert format_size(n_bytes) == text
