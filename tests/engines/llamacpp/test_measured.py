"""Beside what llama.cpp b11434 itself reserved, model by model.

The runs (no allocation, 2026-11-29) are chosen among those whose compute buffers the graphs reproduce: they hold what is reached,
and say nothing of how often it is.
"""

import json
import shlex
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import pytest

from kvplan.core.checkpoint import Checkpoint, Tensor
from kvplan.core.device import Node
from kvplan.core.dtypes import dtype
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp.command import parse
from kvplan.engines.llamacpp.deployment import Deployment
from kvplan.engines.llamacpp.resolve import resolve
from kvplan.hardware import catalog
from kvplan.specs.gguf.build import build
from kvplan.specs.gguf.header import Header

DATA = json.loads((Path(__file__).parents[2] / "data/engines/llamacpp.json").read_text())
LOAD = Workload(4096, 1, 4095)


def tensor(name: str, shape: list[int], kind: str) -> Tensor:
    element = dtype(kind.lower())
    return Tensor(name, element.name, tuple(shape), prod(shape[1:]) * element.row_bytes(shape[0]))


def blocks(spans: str) -> list[int]:
    """``0-2,5``"""
    ends = [span.partition("-") for span in spans.split(",")]
    return [i for first, _, last in ends for i in range(int(first), int(last or first) + 1)]


@cache
def model(name: str) -> ModelSpec:
    given = DATA["models"][name]["keys"]
    keys, found = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}, list[Tensor]()
    for pattern, shape, kind, *spans in DATA["models"][name]["tensors"]:
        found += [tensor(pattern.replace("*", str(i)), shape, kind) for i in blocks(spans[0])] if spans else [tensor(pattern, shape, kind)]
    header = Header(3, keys, tuple(found), given[f"{keys['general.architecture']}.vocab_size"], 0, 32)
    return build(header, name)._replace(checkpoint=Checkpoint("gguf", "headers", 1, 0, 0, (), header.tensors))


def node(n_gpus: int) -> Node:
    return (catalog.node("h100-sxm", n_gpus=n_gpus) if n_gpus else Node(None, None, ()))._replace(isa="x86-avx512")


@pytest.mark.parametrize("run", [pytest.param(run, id=f"{i}-{run['model']}") for i, run in enumerate(DATA["runs"])])
def test_buffers_are_those_of_llama_cpp(run: dict[str, Any]) -> None:
    spec, here = model(run["model"]), node(run["gpus"])
    settings = resolve(parse(shlex.split(run["command"]), {}, "b11434"), LOAD, spec, here, "b11434")
    deployment = Deployment(spec, settings, here)
    found: dict[str, dict[str, int]] = {"cache": {}, "weights": {}, "compute": {}}
    for entry in deployment.entries(LOAD):
        of = {"kv_cache": "cache", "recurrent_state": "cache", "weights": "weights", "compute_buffer": "compute"}.get(entry.term)
        if of and entry.size.best:
            found[of][str(entry.device)] = found[of].get(str(entry.device), 0) + entry.size.best
    assert deployment.resolved()["n_ctx"] == run["n_ctx"]
    assert found["cache"] == run["cache"]
    assert found["weights"] == run["weights"]
    assert found["compute"] == pytest.approx(run["compute"], rel=0.02)
