"""Graphs that were not laid out: on the line of one that was, to the byte."""

import random
from typing import Literal

import pytest

import kvplan
from kvplan.core.device import UNKNOWN_NODE, Node
from kvplan.core.engine import Parsed
from kvplan.core.remembered import Remembered
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp import compute
from kvplan.engines.llamacpp.engine import ENGINE
from kvplan.engines.llamacpp.graphs.growing import CELLS, Growing, Range
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.settings import Settings
from kvplan.hardware import catalog

MODELS = ("qwen3-8b", "gemma-3-12b", "deepseek-v2-lite", "granite-4.0-h-tiny", "mixtral-8x7b", "glm-5")
NODES = (UNKNOWN_NODE, catalog.node("h100-sxm"), catalog.node("rtx-4090+rtx-3060-12"))


def reserved(name: str, settings: Settings, node: Node) -> dict[int, int]:
    return Laid(MODEL[name], settings, node).compute.n_bytes


MODEL = {name: kvplan.load_model(name) for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("flash", ["auto", "off"])
def test_what_is_known_of_a_line_is_what_laying_out_gives(
    name: str, flash: Literal["auto", "off"], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = random.Random(name + flash)
    for node in NODES:
        settings = ENGINE.resolve(Parsed("llama.cpp", None, None), Workload(4096, chosen.choice((1, 3, 8)), 1), MODEL[name], node, "b11434")
        many = [
            settings._replace(n_ctx=chosen.randrange(512, 200_000) * settings.n_parallel, flash_attn=flash, n_gpu_layers=layers)
            for layers in (-1, 5)
            for _ in range(12)
        ]
        monkeypatch.setattr(compute, "_known", Remembered(4096))
        together = [reserved(name, each, node) for each in many]
        monkeypatch.setattr(compute, "_GROWING", ())
        monkeypatch.setattr(compute, "_known", Remembered(4096))
        assert together == [reserved(name, each, node) for each in many]
        monkeypatch.undo()


def test_a_graph_is_laid_out_once_for_all_cells_that_are_handled_alike() -> None:
    laid_out = []

    def find(cells: Range) -> dict[int, int]:
        laid_out.append(cells.at)
        return {0: 1000 + CELLS if cells.sign(CELLS - 10_240) < 0 else 3 * CELLS - 20_000}

    growing = Growing()
    for n in (*range(256, 100_000, 256), 512):
        assert growing.peaks(n, find) == {0: 1000 + n if n < 10_240 else 3 * n - 20_000}
    assert laid_out == [256, 10_240, 10_496]  # below, at and above where the comparison turns


@pytest.mark.parametrize(
    ("size", "at", "sign", "low", "high"),
    [
        (-7, 5, -1, 0, None),  # does not grow
        (CELLS - 100, 5, -1, 0, 99),
        (CELLS - 100, 100, 0, 100, 100),
        (CELLS - 100, 101, 1, 101, None),
        (3 * CELLS - 100, 33, -1, 0, 33),  # turns at 33 1/3
        (3 * CELLS - 100, 34, 1, 34, None),
        (100 - 3 * CELLS, 34, -1, 34, None),
        (2 * CELLS + 100, 1, 1, 0, None),  # turns below 0
    ],
)
def test_a_comparison_says_between_which_cells_it_comes_out_the_same(size: int, at: int, sign: int, low: int, high: int | None) -> None:
    cells = Range(at)
    endless = cells.high
    found = cells.sign(size)
    assert (found > 0) - (found < 0) == sign
    assert (max(0, cells.low), cells.high) == (low, endless if high is None else high)


def test_layouts_are_the_same_where_their_cells_say_so() -> None:
    cells = Range(512)
    assert cells.equal((2, CELLS, 64), (2, CELLS, 64))
    assert cells.equal((2, CELLS, 64), (2, 512, 64))
    assert (cells.low, cells.high) == (512, 512)
    assert not Range(512).equal((2, CELLS, 64), (4, 512, 64))
    assert not Range(512).equal((2, 64), (2, 64, 1))
