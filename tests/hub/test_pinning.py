"""A pinned spec answers as the model did, without its files and without the Hub."""

import json
from pathlib import Path

import pytest

from kvplan import load_model
from kvplan.verifier.configs import config_of
from tests import weights
from tests.gguf.test_load import write
from tests.gguf.writing import llama, llama_tensors
from tests.hub.loopback import COMMIT, Loopback
from tests.hub.models import CONFIG, ENDS, LAYER
from tests.running import Run

SAME = ("n_params", "runs", "weights", "stored_dtype", "quantization", "exact", "checkpoint")


def pin(kvplan: Run, ref: str, folder: Path) -> str:
    path = folder / "pinned.yaml"
    assert kvplan("models", ref, "--spec", "-o", str(path)).code == 0
    return str(path)


def test_a_directory(kvplan: Run, tmp_path: Path) -> None:
    model = tmp_path / "Mine"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(CONFIG))
    (model / "generation_config.json").write_text('{"use_cache": false}')
    (model / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}')
    (model / "model.safetensors").write_bytes(weights.whole({**LAYER, **ENDS}))
    mine, theirs = load_model(pin(kvplan, str(model), tmp_path)), load_model(str(model))
    assert all(getattr(mine, name) == getattr(theirs, name) for name in SAME)
    assert (mine.id, mine.quantization) == ("mine", "modelopt")
    assert (mine.use_cache_off_in is None) == (theirs.use_cache_off_in is None) is False


def test_a_model_of_the_hub(kvplan: Run, hub: Loopback, tmp_path: Path) -> None:
    hub.repos["org/model"] = {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": weights.whole({**LAYER, **ENDS})}
    theirs, path = load_model("org/model"), pin(kvplan, "org/model", tmp_path)
    hub.repos.clear()
    mine = load_model(path)
    assert all(getattr(mine, name) == getattr(theirs, name) for name in SAME)
    assert (mine.id, mine.revision, mine.source) == ("org/model", COMMIT, "spec")


def test_verify_builds_from_the_config_of_the_hub(hub: Loopback) -> None:
    hub.repos["qwen/qwen3-8b"] = {"config.json": json.dumps(CONFIG).encode()}  # an alias of a built-in model: not that one
    assert config_of("qwen/qwen3-8b") == CONFIG


def test_a_gguf_is_its_own_spec(kvplan: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", llama(), llama_tensors())
    found = kvplan("models", str(path), "--spec")
    assert found.code == 2
    assert "its header is the spec" in found.err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"format": "zip"}, "checkpoint.format"),
        ({"n_bytes": -1}, "checkpoint.n_bytes"),
        ({"holdings": [["model", "mlp", "float16", 1, 1]]}, "checkpoint.holdings"),
    ],
)
def test_what_no_headers_say(kvplan: Run, tmp_path: Path, wrong: dict[str, object], said: str) -> None:
    facts = {"format": "safetensors", "basis": "headers", "n_files": 1, "file_bytes": 9, "n_bytes": 9, "holdings": []}
    path = tmp_path / "spec.yaml"
    path.write_text(json.dumps({"id": "x", "checkpoint": {**facts, **wrong}, "config": CONFIG}))
    found = kvplan("models", str(path))
    assert found.code == 2
    assert said in found.err
