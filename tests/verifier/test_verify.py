import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvplan.core.errors import RequestError, UnavailableError
from kvplan.core.units import GIB, KIB
from kvplan.hardware import nvml
from kvplan.render.verification import text
from kvplan.verifier import checks, verify
from kvplan.verifier.configs import config_of
from kvplan.verifier.record import Job
from tests.gguf.writing import header, llama, llama_tensors
from tests.hardware.memory import fake_memory, hide_memory
from tests.verifier.models import LLAMA, write
from tests.verifier.pretended import child, ended, no_child, pretend_torch

if TYPE_CHECKING:
    from kvplan.estimator.options import Keywords
    from kvplan.verifier.run import RunKeywords


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"gpu": "h100-sxm", "backend": "cpu"}, "not on h100-sxm", id="another GPU"),
        pytest.param({"gpu": "h100-sxm:8", "backend": "trace"}, "a trace is of one GPU", id="a trace of several GPUs"),
        pytest.param({"gpu": "h100-sxm", "gpus": "2", "backend": "trace"}, "a trace is of one GPU", id="a trace of two GPUs"),
        pytest.param({"gpu": "h100-smx", "backend": "trace"}, "h100-smx", id="a trace of no known GPU"),
        pytest.param({"budget": "24GiB"}, "not on 24GiB", id="a budget"),
        pytest.param({"gpus": "2"}, "not on 2 GPUs", id="two GPUs"),
        pytest.param({"cache": "quantized"}, "no quantized cache", id="a cache that random weights can't show"),
        pytest.param({"kv_dtype": "float8_e4m3fn"}, "no quantized cache", id="a cache of fewer bits"),
        pytest.param({"kv_dtype": "float32"}, "not in float32", id="a cache of more bits"),
        pytest.param({"tp": 2, "backend": "trace"}, "nothing is split", id="tensor parallelism"),
        pytest.param({"device_map": "auto", "backend": "trace"}, "nothing is split", id="a device_map"),
        pytest.param({"dtype": "int4"}, "plain types of torch, not int4", id="quantized weights"),
    ],
)
def test_what_is_not_run_so(options: "RunKeywords", words: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        verify(write(tmp_path, LLAMA), **options)
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("options", [{"n_layers": 0}, {"warmup": 0}, {"repeats": -1}])
def test_counts_have_a_least(options: "RunKeywords") -> None:
    with pytest.raises(RequestError, match="expected a whole number from"):
        verify("llama-2-7b", **options)


AWQ: dict[str, object] = LLAMA | {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True}}


def test_quantized_weights_are_run_as_plain_ones_of_the_same_shapes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jobs: list[Job] = []

    def answer(job: Job) -> str:
        jobs.append(job)
        return ended("ran", "trace")

    pretend_torch(monkeypatch)
    child(monkeypatch, answer)
    found = verify(write(tmp_path, AWQ), ctx="24", backend="trace", no_cache=True)
    assert [(job.dtype, job.use_cache) for job in jobs] == [("bfloat16", True), ("bfloat16", False)]
    assert found.estimate
    assert found.estimate.model.quantization is None
    assert "the weights are stored quantized: run, and estimated, in bfloat16" in text(found)


def test_quantized_weights_are_not_run_where_they_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="plain types of torch, not fp8") as caught:
        verify(write(tmp_path, LLAMA), dtype="fp8")
    assert "--dtype bfloat16 runs the same shapes" in caught.value.hint


def test_weights_in_no_type_of_torch_are_not_run(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="not float8_e5m2"):
        verify(write(tmp_path, LLAMA | {"dtype": "float8_e5m2"}))


def test_without_torch_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    no_child(monkeypatch)
    with pytest.raises(UnavailableError) as caught:
        verify(write(tmp_path, LLAMA))
    assert caught.value.exit_code == 3
    assert caught.value.message == "not installed: torch, transformers"
    assert caught.value.hint == "pip install 'kvplan[verify]'"


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    pretend_torch(monkeypatch)
    no_child(monkeypatch)
    with pytest.raises(UnavailableError, match="no attached GPU"):
        verify(write(tmp_path, LLAMA), backend="cuda")


def test_the_tier_is_that_of_the_hardware_unless_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvplan.hardware.presence.driver", lambda: False)
    assert checks.tier(None) == "trace"
    monkeypatch.setattr("kvplan.hardware.presence.driver", lambda: True)
    monkeypatch.setattr("kvplan.hardware.nvml.devices", lambda: [nvml.Device("NVIDIA H200", "GPU-1", 150 * GIB, 0, 0, (9, 0))])
    assert checks.tier(None) == "cuda"
    assert checks.tier("cpu") == "cpu"


@pytest.mark.parametrize("options", [{"gpu": "local"}, {"budget": "24GiB"}, {"gpus": "2"}])
def test_a_trace_is_on_no_hardware(options: "Keywords", tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="on no hardware at all, not on"):
        verify(write(tmp_path, LLAMA), backend="trace", **options)


@pytest.mark.parametrize(
    ("available_bytes", "kind"),
    [
        pytest.param(96 * KIB, "too_large", id="too little is free"),
        pytest.param(None, "memory_unknown", id="nobody tells what is free"),
    ],
)
def test_the_size_is_guarded_before_anything_is_allocated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, available_bytes: int | None, kind: str
) -> None:
    pretend_torch(monkeypatch)
    no_child(monkeypatch)
    if available_bytes is None:
        hide_memory(monkeypatch, tmp_path)
    else:
        fake_memory(monkeypatch, tmp_path, total_bytes=GIB, available_bytes=available_bytes)
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
    head, n_data = header(llama(), llama_tensors())
    (tmp_path / "m.gguf").write_bytes(head + bytes(n_data))
    with pytest.raises(RequestError, match="found a GGUF file"):
        config_of(str(tmp_path / "m.gguf"))
