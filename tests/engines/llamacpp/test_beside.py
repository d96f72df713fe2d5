"""What a server holds beside the model: saved prompts, locked pages, a projector."""

import pytest

import kvplan
from kvplan.core.device import Node
from kvplan.core.ledger import Entry, total
from kvplan.core.model import ModelSpec
from kvplan.core.units import MIB
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp.deployment import Deployment
from kvplan.engines.llamacpp.host import saved_prompt
from kvplan.engines.llamacpp.laid import Laid
from tests.engines.llamacpp.resolving import LLAMA, NOWHERE, cards, settled
from tests.engines.llamacpp.test_measured import model as measured

LOAD = Workload(4096, 1, 4095)
ONE = cards("rtx-4090", 1)
GEMMA = kvplan.load_model("gemma-3-27b")


def deployed(line: str, model: ModelSpec = LLAMA, node: Node = ONE) -> Deployment:
    return Deployment(model, settled(f"llama-server -m x {line}", model=model, node=node), node)


def line_of(line: str, name: str, model: ModelSpec = LLAMA) -> Entry:
    return next(entry for entry in deployed(line, model).entries(LOAD) if entry.name == name)


@pytest.mark.parametrize(
    ("model", "each", "rest"),
    [
        (kvplan.load_model("qwen3-0.6b"), 114_688, 0),  # measured on b11434: bytes of each saved token
        (measured("mamba-2.8b"), 0, 23.8 * MIB),
        (measured("granite4-tiny"), 4 * (512 + 512) * 2, 55.4 * MIB),
    ],
    ids=["qwen3-0.6b", "mamba-2.8b", "granite4-tiny"],
)
def test_a_saved_prompt_takes_the_caches_rate(model: ModelSpec, each: int, rest: float) -> None:
    """Source of the states: checkpoints measured on b11434."""
    found = saved_prompt(Laid(model, settled("llama-server -m x -c 4096", model=model), NOWHERE).cache)
    assert found[0] == each
    assert found[1] == pytest.approx(rest, abs=0.06 * MIB)


def test_windows_are_saved_as_far_as_they_are_kept() -> None:
    spec = measured("gpt-oss-20b")
    each, rest = saved_prompt(Laid(spec, settled("llama-server -m x -c 8192 -np 1", model=spec), NOWHERE).cache)
    assert (each, rest) == (12 * 2048, 12 * 2048 * 768)


def test_saved_prompts_say_what_they_take() -> None:
    assert line_of("-c 4096", "saved prompts").inputs == {"each": 131_072, "rest": 0}
    assert "prompt_cache" in {one.id for one in deployed("-c 4096 -cram -1").not_modeled}
    assert "prompt_cache" not in {one.id for one in deployed("-c 4096").not_modeled}


def test_locked_pages_are_not_taken_back() -> None:
    spec, name = measured("gpt-oss-20b"), "pages of the mapped file beside the weights"
    free = line_of("-c 4096 -ngl 8", name, spec).size
    assert free.low == 0 < free.high
    locked = line_of("-c 4096 -ngl 8 -lm mmap+mlock", name, spec).size
    assert locked == (free.high, free.high, free.high)


TOWERS = 423_060_336
"""Parameters of the vision tower and its projection, counted by Transformers 5.24 (class gemma3)."""


@pytest.mark.parametrize(
    ("words", "place", "n_bytes"),
    [
        ("--mmproj mmproj-F16.gguf", "gpu0", 2 * TOWERS),
        ("--mmproj m-F32.gguf", "gpu0", 4 * TOWERS),
        ("--mmproj m.gguf --no-mmproj-offload", "host", 2 * TOWERS),
        ("--mmproj m.gguf -dev none", "host", 2 * TOWERS),
    ],
)
def test_a_projector_is_as_large_as_the_models_towers(words: str, place: str, n_bytes: int) -> None:
    found = line_of(f"-c 4096 {words}", "projector", GEMMA)
    assert (found.term, found.place, found.size.best) == ("projector", place, n_bytes)
    assert found.size.low <= n_bytes <= found.size.high
    assert deployed(f"-c 4096 {words}", GEMMA).not_modeled[0].id == "projector"


def test_of_a_model_without_towers_nothing_is_known() -> None:
    assert all(entry.term != "projector" for entry in deployed("-c 4096 --mmproj m.gguf").entries(LOAD))


@pytest.mark.parametrize(
    "line", ["-c 4096", "-c 4096 -np 3 -ctk q8_0 -ctv q8_0", "-c 4096 --mmproj m.gguf", "-c 4096 --spec-type draft-mtp"]
)
@pytest.mark.parametrize("model", [LLAMA, GEMMA, kvplan.load_model("granite-4.0-h-tiny")], ids=lambda model: model.id)
def test_needs_are_the_sum_of_the_lines(line: str, model: ModelSpec) -> None:
    found = deployed(line, model)
    for place in ("gpu0", "host"):
        assert found.need_bytes(place, LOAD) == total(entry.size for entry in found.entries(LOAD) if entry.place == place)
