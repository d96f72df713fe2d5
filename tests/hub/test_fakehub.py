"""The stand-in for the Hub that lies beside a checkout: real configs, real layouts, its own ways to fail."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from kvplan import KvplanError, load_model
from kvplan.core.dtypes import DTYPES
from kvplan.specs.safetensors import ELEMENTS

READER = "hf_reader"
OWN = ("id", "source", "revision", "checkpoint", "caveats", "exact", "off_by", "use_cache_off_in")


@pytest.fixture(scope="module")
def stand_in() -> Iterator[Any]:
    folder = Path(__file__).parents[3] / "shared" / "hub"
    if not folder.is_dir():
        pytest.skip("needs the folder ../shared with the stand-in for the Hub")
    with ExitStack() as stack:
        sys.path.insert(0, str(folder))
        stack.callback(sys.path.remove, str(folder))
        yield stack.enter_context(import_module("fakehub").FakeHub(folder / "configs", tokens={READER: ["*"], "hf_stranger": []}))


@pytest.fixture
def hub(stand_in: Any, client: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(constants, "ENDPOINT", stand_in.url)
    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 10)
    stand_in.clear()
    return stand_in


def outcome(ref: str, where: str) -> object:
    """The spec without what tells its origin, or the refusal."""
    try:
        spec = load_model(ref)
    except KvplanError as problem:
        return problem.kind, problem.message.removeprefix(where)
    return {name: value for name, value in spec._asdict().items() if name not in OWN}


def test_every_config_gives_what_its_file_gives(hub: Any, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", READER)
    configs = sorted((shared / "hub" / "configs").glob("*/*/config.json"))
    ids = {f"{path.parent.parent.name}/{path.parent.name}": path for path in configs}
    assert len(ids) > 250
    assert [id for id, path in ids.items() if outcome(id, f"{id}/config.json") != outcome(str(path), str(path))] == []


def test_weights_of_exact_layouts(hub: Any, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", READER)
    n_repos = 0
    for facts in sorted((shared / "hub" / "configs").glob("*/*/.fakehub.json")):
        files = json.loads(facts.read_text()).get("virtual", {})
        layouts = [
            file["tensors"] for name, file in files.items() if name.endswith(".safetensors") and "/" not in name and "tensors" in file
        ]
        ref = f"{facts.parent.parent.name}/{facts.parent.name}"
        if not layouts:
            continue
        n_repos += 1
        found = load_model(ref).checkpoint
        assert found is not None, ref
        due = sum(row_bytes(dtype, prod(shape)) for layout in layouts for dtype, shape in layout.values())
        assert (ref, found.basis, found.n_bytes) == (ref, "headers", due)
    assert n_repos >= 19


def row_bytes(dtype: str, n_elems: int) -> int:
    return DTYPES[ELEMENTS[dtype]].row_bytes(n_elems)
