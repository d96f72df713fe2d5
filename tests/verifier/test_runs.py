import json
from pathlib import Path

import pytest

from kvplan.hardware import probe
from kvplan.render.verification import as_json
from kvplan.verifier import Verification, verify
from kvplan.verifier.process import measure
from kvplan.verifier.record import Job
from tests.verifier.models import GEMMA, LLAMA, MAMBA, write


def torch_or_skip() -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    pytest.importorskip("transformers", exc_type=ImportError)


def run(folder: Path, config: dict[str, object], prompt: str) -> Verification:
    return verify(write(folder, config), ctx="24", prompt=prompt, batch="2", backend="cpu", timeout_s=240)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("config", "prompt"),
    [
        pytest.param(LLAMA, "20", id="full attention"),
        pytest.param(LLAMA, "24", id="prefill alone"),
        pytest.param(GEMMA, "20", id="windows that the prompt exceeds"),
        pytest.param(MAMBA, "20", id="states"),
    ],
)
def test_weights_and_cache_are_right_to_the_byte(config: dict[str, object], prompt: str, tmp_path: Path) -> None:
    torch_or_skip()
    found = run(tmp_path, config, prompt)
    assert found.ok, found.terms
    assert {"weights"} < {term.term for term in found.terms}
    answer = as_json(found)
    assert answer["tier"] == "cpu"
    assert json.loads(json.dumps(answer)) == answer
    assert found.record.versions["torch"]


@pytest.mark.gpu
@pytest.mark.torch
def test_a_gpu_agrees_term_by_term() -> None:
    torch_or_skip()
    if probe.attached() is None:
        pytest.skip("needs an attached GPU")
    found = verify("smollm2-135m", ctx="2048", prompt="2040", batch="4", timeout_s=240)
    assert found.record.outcome == "ran"
    assert [term for term in found.terms if not term.ok] == []
    assert {"weights", "kv_cache", "activations", "peak"} <= {term.term for term in found.terms}


@pytest.mark.torch
def test_fewer_layers_and_a_record(tmp_path: Path) -> None:
    torch_or_skip()
    found = verify(write(tmp_path, LLAMA), ctx=24, prompt=20, backend="cpu", n_layers=1, record_in=tmp_path / "records", timeout_s=240)
    assert found.ok
    assert found.estimate
    assert found.estimate.model.n_layers == 1
    (file,) = found.saved
    assert json.loads(file.read_text())["job"]["config"]["num_hidden_layers"] == 1


@pytest.mark.torch
def test_a_model_that_transformers_has_not(tmp_path: Path) -> None:
    torch_or_skip()
    job = Job("odd", {"model_type": "odd", "architectures": ["OddForCausalLM"]}, "float32", 24, 1, 20, device="cpu")
    record = measure(job, timeout_s=240)
    assert record.outcome == "failed"
    assert "has no model for odd (OddForCausalLM)" in str(record.error)
    record = measure(job._replace(config=LLAMA, max_bytes=1000), timeout_s=240)
    assert record.outcome == "refused"
    assert record.model is None
