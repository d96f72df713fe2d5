import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvplan.core.errors import RequestError, UnavailableError
from kvplan.core.units import GIB
from kvplan.hardware import host, probe
from kvplan.render.verification import as_json
from kvplan.verifier import Verification, verify
from kvplan.verifier.configs import config_of
from kvplan.verifier.process import ChildError, measure
from kvplan.verifier.record import Device, Job, Record, Snapshot, to_json

if TYPE_CHECKING:
    from kvplan.estimator.options import Keywords

BASE: dict[str, object] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "vocab_size": 100,
}
LLAMA: dict[str, object] = BASE | {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 3,
    "dtype": "bfloat16",
}
GEMMA: dict[str, object] = BASE | {
    "model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "num_hidden_layers": 6, "sliding_window": 8, "dtype": "bfloat16",
}  # fmt: skip
MAMBA: dict[str, object] = {
    "model_type": "mamba2", "architectures": ["Mamba2ForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64, "num_heads": 4,
    "head_dim": 32, "n_groups": 1, "state_size": 16, "vocab_size": 100, "dtype": "float32",
}  # fmt: skip


def write(folder: Path, config: dict[str, object]) -> str:
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def torch_or_skip() -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    pytest.importorskip("transformers", exc_type=ImportError)


def forbid_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> object:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "run", run)


def pretend_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"gpu": "h100-sxm"}, "not on h100-sxm", id="another GPU"),
        pytest.param({"budget": "24GiB"}, "not on 24GiB", id="a budget"),
        pytest.param({"gpus": "2"}, "not on 2 GPUs", id="two GPUs"),
        pytest.param({"cache": "quantized"}, "no quantized cache", id="a cache that random weights can't show"),
        pytest.param({"kv_dtype": "float8_e4m3fn"}, "no quantized cache", id="a cache of fewer bits"),
        pytest.param({"kv_dtype": "float32"}, "not in float32", id="a cache of more bits"),
        pytest.param({"dtype": "int4"}, "none in int4", id="weights in no type of torch"),
    ],
)
def test_what_is_not_run_so(options: "Keywords", words: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        verify(write(tmp_path, LLAMA), **options)
    assert words in caught.value.message
    assert caught.value.hint


def test_quantized_weights_are_not_random(tmp_path: Path) -> None:
    quantized = LLAMA | {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True}}
    with pytest.raises(RequestError, match="needs real ones"):
        verify(write(tmp_path, quantized))


def test_without_torch_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    forbid_runs(monkeypatch)
    with pytest.raises(UnavailableError) as caught:
        verify(write(tmp_path, LLAMA))
    assert caught.value.exit_code == 3
    assert caught.value.message == "not installed: torch, transformers"
    assert caught.value.hint == "pip install 'kvplan[verify]'"


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    pretend_torch(monkeypatch)
    forbid_runs(monkeypatch)
    with pytest.raises(UnavailableError, match="no attached GPU"):
        verify(write(tmp_path, LLAMA))


@pytest.mark.parametrize(
    ("memory", "kind"),
    [
        pytest.param(host.HostMemory(GIB, 100_000), "too_large", id="too little is free"),
        pytest.param(None, "memory_unknown", id="nobody tells what is free"),
    ],
)
def test_the_size_is_guarded_before_anything_is_allocated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, memory: host.HostMemory | None, kind: str
) -> None:
    pretend_torch(monkeypatch)
    forbid_runs(monkeypatch)
    monkeypatch.setattr(host, "memory", lambda: memory)
    with pytest.raises(UnavailableError) as caught:
        verify(write(tmp_path, LLAMA), ctx="64", backend="cpu")
    assert caught.value.kind == kind


def test_configs(tmp_path: Path) -> None:
    folder = write(tmp_path, LLAMA)
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"id: mine\nconfig: {json.dumps(LLAMA)}\n")
    assert config_of(folder) == config_of(f"{folder}/config.json") == config_of(str(spec)) == LLAMA
    assert config_of("llama-2-7b")["hidden_size"] == 4096
    with pytest.raises(RequestError, match="unknown model"):
        config_of("llama-2-7c")
    with pytest.raises(RequestError, match="stdin"):
        config_of("-")


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
    assert found.estimate.model.n_layers == 1
    assert found.saved is not None
    assert json.loads(found.saved.read_text())["job"]["config"]["num_hidden_layers"] == 1


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


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param("import sys; sys.stderr.write('boom'); sys.exit(7)", "code 7: boom", id="dies"),
        pytest.param("print('no record')", "wrote nothing", id="babbles"),
        pytest.param("import os; os.kill(os.getpid(), 9)", "was killed", id="is killed"),
        pytest.param("import time; time.sleep(60)", "within 0.5 s", id="hangs"),
    ],
)
def test_a_process_that_gives_no_record(tmp_path: Path, script: str, words: str) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\n{script}\n")
    python.chmod(0o755)
    with pytest.raises(ChildError, match=words):
        measure(Job("x", {}, "float32", 2, 1, 1), timeout_s=0.5 if "sleep" in script else 60, python=str(python))


def answered(monkeypatch: pytest.MonkeyPatch, *, stdout: str = "", code: int = 0) -> None:
    """The measuring process at the border: it ends with this."""
    pretend_torch(monkeypatch)
    monkeypatch.setattr(host, "memory", lambda: host.HostMemory(64 * GIB, 64 * GIB))
    done = subprocess.CompletedProcess([], code, stdout, "boom")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)


def ended(outcome: str) -> str:
    job = Job("x", LLAMA, "bfloat16", 24, 1, 23, device="cpu")
    record = Record(job, outcome, "words of the run", "2026-11-29T12:00:00Z", {}, Device("cpu", "x86_64", None, None, None), Snapshot())
    return json.dumps(to_json(record))


def test_a_process_that_dies_is_no_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answered(monkeypatch, code=3)
    with pytest.raises(UnavailableError, match="code 3: boom"):
        verify(write(tmp_path, LLAMA), ctx="24", backend="cpu")


@pytest.mark.parametrize("outcome", ["failed", "refused"])
def test_a_run_that_fails_is_no_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outcome: str) -> None:
    answered(monkeypatch, stdout=ended(outcome))
    with pytest.raises(UnavailableError, match="words of the run"):
        verify(write(tmp_path, LLAMA), ctx="24", backend="cpu")


def test_running_out_of_memory_is_an_answer_and_not_ok(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answered(monkeypatch, stdout=f"a library's chatter\n{ended('oom')}\n")
    found = verify(write(tmp_path, LLAMA), ctx="24", backend="cpu")
    assert not found.ok
    assert found.terms == ()
    assert as_json(found)["timings"] == {"build_s": None, "prefill_s": None, "decode_step_s": None}
