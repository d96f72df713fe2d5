"""Findings before and now: which a change brought."""

import pytest

from kvplan.checker.case import Found, Level
from kvplan.differ.judged import split


def found(rule: str, level: Level = "error", file: str = "a.sh") -> Found:
    return Found(rule, level, file, 1, 1, None, "")


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param([], [found("KV500")], (1, 0, 0), id="new"),
        pytest.param([found("KV500")], [], (0, 1, 0), id="gone"),
        pytest.param([found("KV500")], [found("KV500")], (0, 0, 1), id="known"),
        pytest.param([found("KV500", "warning")], [found("KV500")], (1, 0, 0), id="risen"),
        pytest.param([found("KV500")], [found("KV500", "warning")], (0, 0, 1), id="fallen"),
        pytest.param([found("KV500")], [found("KV500"), found("KV500")], (1, 0, 1), id="one-more"),
        pytest.param([found("KV500"), found("KV500")], [found("KV500")], (0, 1, 1), id="one-less"),
        pytest.param([found("KV593", file="old.sh")], [found("KV593")], (0, 0, 1), id="of-a-renamed-file"),
        pytest.param([found("KV593", file="b.sh")], [found("KV593")], (1, 1, 0), id="of-another-file"),
    ],
)
def test_split(before: list[Found], now: list[Found], expected: tuple[int, int, int]) -> None:
    parts = split(before, now, {"old.sh": "a.sh"})
    assert tuple(len(part) for part in parts) == expected
