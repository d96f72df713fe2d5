"""Checkpoints in the place of random weights."""

from pathlib import Path

import pytest

from kvplan.core.errors import RequestError
from kvplan.specs import load_model
from kvplan.verifier import checks, verify, weights
from kvplan.verifier.process import measure
from kvplan.verifier.record import Job
from tests.verifier.models import LLAMA, write


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A small model as Transformers saves it."""
    torch = pytest.importorskip("torch", exc_type=ImportError)
    transformers = pytest.importorskip("transformers", exc_type=ImportError)
    config = transformers.CONFIG_MAPPING["llama"].from_dict(LLAMA)
    transformers.LlamaForCausalLM._from_config(config, dtype=torch.bfloat16).save_pretrained(tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_a_checkpoint_is_loaded_and_agrees(checkpoint: Path, tmp_path: Path) -> None:
    found = verify(write(tmp_path, LLAMA), weights=str(checkpoint), ctx=24, prompt=20, batch=2, repeats=1, no_cache=True, timeout_s=240)
    assert found.tier == "cpu", "a trace reads no weights"
    assert found.ok, found.terms
    assert found.record.job.weights == str(checkpoint)
    assert found.record.model
    assert found.record.built
    whole = found.record.model.parameter_bytes + found.record.model.buffer_bytes
    assert found.record.built.allocated_bytes == whole
    assert found.uncached
    assert found.uncached.outcome == "ran"
    assert found.uncached.decode
    assert found.uncached.decode.kv_bytes == 0
    assert found.uncached.timings


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_a_checkpoint_without_all_tensors_is_refused(checkpoint: Path) -> None:
    deeper = LLAMA | {"num_hidden_layers": 4}
    record = measure(Job("deeper", deeper, "bfloat16", 24, 1, 20, device="cpu", weights=str(checkpoint)), timeout_s=240)
    assert record.outcome == "refused"
    assert "9 tensors of LlamaForCausalLM are not in" in str(record.error)
    assert "model.layers.3.input_layernorm.weight" in str(record.error)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        pytest.param({"hidden_size": 128}, "hidden_size 128, not 64", id="another shape"),
        pytest.param(
            {"model_type": "mistral", "architectures": ["MistralForCausalLM"]}, "architecture MistralForCausalLM, not Llama", id="class"
        ),
        pytest.param({"num_key_value_heads": 2, "num_attention_heads": 2}, "n_params", id="more heads"),
        pytest.param({"head_dim": 16, "num_attention_heads": 4, "num_key_value_heads": 2}, "its layers attend otherwise", id="other heads"),
    ],
)
def test_another_model_than_the_one_named_is_refused(tmp_path: Path, other: dict[str, object], words: str) -> None:
    for name, config in (("asked", LLAMA), ("found", LLAMA | other)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, config)
    with pytest.raises(RequestError) as caught:
        weights._check_same(load_model(str(tmp_path / "asked")), load_model(str(tmp_path / "found")), "found")
    assert words in caught.value.message


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"no \*\.safetensors"):
        verify(write(tmp_path, LLAMA), weights=str(tmp_path), backend="cpu")
    with pytest.raises(RequestError, match="a trace reads none"):
        verify("llama-2-7b", weights=str(tmp_path), backend="trace")


def test_a_checkpoint_runs_on_the_processor_where_no_gpu_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvplan.hardware.presence.driver", lambda: False)
    assert checks.tier(None, loads=True) == "cpu"
