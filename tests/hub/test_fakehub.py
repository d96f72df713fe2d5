"""The stand-in for the Hub that lies beside a checkout: real configs and real layouts."""

import json
from collections.abc import Callable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import pytest

from kvplan import KvplanError, load_model
from kvplan.core.dtypes import DTYPES
from kvplan.core.model import ModelSpec
from kvplan.specs.safetensors import ELEMENTS
from tests.hub.conftest import STAND_IN, turn

CONFIGS = STAND_IN / "configs"
OWN = ("id", "source", "revision", "checkpoint", "caveats", "exact", "off_by", "use_cache_off_in")

Outcome = ModelSpec | KvplanError


@pytest.fixture(scope="module")
def outcomes(stand_in: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Outcome]]:
    """Every model there, or its refusal, by id."""
    with stand_in(CONFIGS, tokens={"hf_reader": ["*"]}) as fake, pytest.MonkeyPatch.context() as patch:
        turn(patch, fake.url, tmp_path_factory.mktemp("hub"))
        patch.setenv("HF_TOKEN", "hf_reader")
        folders = sorted(path.parent for path in CONFIGS.glob("*/*/config.json"))
        yield {repo_id: outcome(repo_id) for repo_id in (f"{folder.parent.name}/{folder.name}" for folder in folders)}


def outcome(ref: str) -> Outcome:
    try:
        return load_model(ref)
    except KvplanError as problem:
        return problem


def alike(found: Outcome, where: str) -> object:
    """The spec without what tells its origin, or the refusal."""
    if isinstance(found, KvplanError):
        return found.kind, found.message.removeprefix(where)
    return {name: value for name, value in found._asdict().items() if name not in OWN}


def test_every_config_gives_what_its_file_gives(outcomes: Mapping[str, Outcome]) -> None:
    files = {repo_id: str(CONFIGS / repo_id / "config.json") for repo_id in outcomes}
    differing = [
        repo_id
        for repo_id, found in outcomes.items()
        if alike(found, f"{repo_id}/config.json") != alike(outcome(files[repo_id]), files[repo_id])
    ]
    assert (len(outcomes) > 250, differing) == (True, [])


def test_weights_of_exact_layouts(outcomes: Mapping[str, Outcome]) -> None:
    due = {repo_id: n_bytes for repo_id in outcomes if (n_bytes := laid_out(CONFIGS / repo_id / ".fakehub.json"))}
    found = {repo_id: checkpoint for repo_id, spec in outcomes.items() if isinstance(spec, ModelSpec) and (checkpoint := spec.checkpoint)}
    assert len(due) >= 19
    assert {repo_id: (found[repo_id].basis, found[repo_id].n_bytes) for repo_id in due} == {
        repo_id: ("headers", n_bytes) for repo_id, n_bytes in due.items()
    }


def laid_out(facts: Path) -> int:
    """Bytes of the tensors that the stand-in makes up for a repository."""
    files = json.loads(facts.read_text()).get("virtual", {}) if facts.is_file() else {}
    layouts = [file["tensors"] for name, file in files.items() if name.endswith(".safetensors") and "/" not in name and "tensors" in file]
    return sum(DTYPES[ELEMENTS[dtype]].row_bytes(prod(shape)) for layout in layouts for dtype, shape in layout.values())
