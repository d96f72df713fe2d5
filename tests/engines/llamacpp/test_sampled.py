"""Graphs that were not laid out: on the line between two that were, to the byte."""

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
from kvplan.engines.llamacpp.graphs.sampled import Sampled
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
def test_what_is_known_between_two_sizes_is_what_laying_out_gives(
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
        apart = []
        for each in many:
            monkeypatch.setattr(compute, "_known", Remembered(4096))
            apart.append(reserved(name, each, node))
        assert together == apart


def test_few_graphs_are_laid_out_for_many_sizes() -> None:
    laid_out = []

    def find(n: int) -> tuple[dict[int, int], bytes]:
        laid_out.append(n)
        return {0: 1000 + (n if n < 10_240 else 10_240 + 3 * (n - 10_240))}, b"small" if n < 10_240 else b"large"

    sampled = Sampled(256)
    for n in range(256, 100_000, 256):
        assert sampled.peaks(n, find)[0] == 1000 + (n if n < 10_240 else 10_240 + 3 * (n - 10_240))
    assert len(laid_out) < 30
    assert sampled.peaks(512, find)[0] == 1512
