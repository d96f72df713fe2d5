"""What the top of a report says and draws of a load."""

import re

import pytest

from kvplan.render import html
from tests.report.test_page import POOL, REQUESTS, document
from tests.running import Run


def test_a_load_that_waits_is_told_from_one_that_cannot_start(kvplan: Run) -> None:
    starts = "vllm starts, and lets some of them wait"
    assert starts in html.page(document(kvplan, *POOL))
    assert starts not in html.page(document(kvplan, *REQUESTS["refused"]))


@pytest.mark.parametrize(("card", "share"), [("l40s", 1 / 1.1), ("h100-sxm", 1 / 1.1), ("b200", 1.0)])
def test_the_widest_bar_is_usable_memory_up_to_twice_what_is_needed(kvplan: Run, card: str, share: float) -> None:
    made = document(kvplan, "qwen3-8b", "--gpu", f"l4,{card}", "--engine", "vllm", "--ctx", "32k", "--batch", "4")
    (width,) = re.findall(r'<rect x="0" y="4" width="([\d.]+)%" height="10" class="room"', html.page(made))[1:]
    assert float(width) == pytest.approx(100 * share, abs=0.01)
