"""The longest context and the most slots, beside the caches and masks of those very settings laid out anew."""

import pytest

import kvplan
from kvplan.core.device import Node
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp.fitting import capacity
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.tail import masks
from tests.engines.llamacpp.resolving import cards, settled

LOAD = Workload(2048, 1, 2047)


def laid_out(model: ModelSpec, line: str, node: Node) -> Laid:
    return Laid(model, settled(f"llama-server -m x {line}", model=model, node=node), node)


def fits(before: Laid, line: str) -> bool:
    """Whether caches, and masks beyond those of ``before``, are within each device's memory."""
    laid = laid_out(before.model, line, before.node)
    more = sum(masks(laid.context, laid.cache.pools)) - sum(masks(before.context, before.cache.pools))
    left = {place.id: (place.usable_bytes or 0) - max(0, more) for place in before.node.places()}
    for (_, buffer), n_bytes in laid.cached.items():
        left[laid.place(buffer)] -= n_bytes
    return min(left.values()) >= 0


@pytest.mark.parametrize("name", ["llama-3.1-8b", "gemma-3-27b", "nemotron-h-8b"])
@pytest.mark.parametrize(("gpu", "n_gpus"), [("rtx-4090", 1), ("rtx-3090", 2)])
def test_what_fits_is_what_those_caches_take(name: str, gpu: str, n_gpus: int) -> None:
    model, node = kvplan.load_model(name)._replace(max_ctx_tokens=2**26), cards(gpu, n_gpus)
    before = laid_out(model, "-c 2048 -np 1", node)
    found = capacity(before, (), LOAD)
    assert found is not None
    longest, most = found.max_ctx_tokens or 0, found.max_batch or 0
    assert [fits(before, f"-c {n} -np 1") for n in (longest, longest + 1)] == [True, False]
    assert [fits(before, f"-c {2048 * n} -np {n}") for n in (most, most + 1)] == [True, most == 256]


def test_nothing_is_said_without_devices() -> None:
    laid = laid_out(kvplan.load_model("llama-3.1-8b"), "-dev none", cards("rtx-4090", 1))
    assert capacity(laid, (), LOAD) is None
