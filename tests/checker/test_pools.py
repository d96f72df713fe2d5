"""Servers of SGLang, TGI and TensorRT-LLM, judged by their own estimates in their own words."""

from pathlib import Path

import pytest

from kvplan.checker.check import check
from kvplan.checker.config import Config
from kvplan.checker.report import Report

COMPOSE = """\
services:
  server:
    image: {image}
    command: {command}
    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, count: {n_gpus}, capabilities: [gpu]}}]}}}}}}
"""
SGLANG, TGI, TRT = (
    "lmsysorg/sglang:v0.5.9",
    "ghcr.io/huggingface/text-generation-inference:3.3.4",
    "nvcr.io/nvidia/tensorrt-llm/release:1.1.0",
)
START = "python3 -m sglang.launch_server --model-path llama-3.1-8b"


def checked(tmp_path: Path, image: str, command: str, gpu: str = "h100-sxm", n_gpus: int = 1) -> Report:
    (tmp_path / "compose.yaml").write_text(COMPOSE.format(image=image, command=command, n_gpus=n_gpus), encoding="utf-8")
    return check((str(tmp_path),), Config(root=tmp_path, gpu=gpu))


@pytest.mark.parametrize(
    ("image", "command", "gpu", "n_gpus", "level", "rule", "words"),
    [
        (
            SGLANG,
            f"{START} --mem-fraction-static 0.1",
            "h100-sxm",
            1,
            "error",
            "KV350",
            "sglang refuses on 1 × h100-sxm: Not enough memory",
        ),
        (SGLANG, f"{START} --context-length 262144", "h100-sxm", 1, "error", "KV351", "--context-length 131072 starts"),
        (SGLANG, f"{START} --tp 3", "h100-sxm", 3, "error", "KV352", "--tp-size 2 starts"),
        (SGLANG, f"{START} --tp 4", "h100-sxm", 2, "error", "KV353", "4 ranks need as many GPUs"),
        (SGLANG, START.replace("8b", "70b"), "h100-sxm", 1, "error", "KV354", "with --tp-size 4 on 4 × h100-sxm"),
        (SGLANG, f"{START} --context-length 131072 --mem-fraction-static 0.3", "h100-sxm", 1, "warning", "KV356", "SGLang starts"),
        (SGLANG, f"{START} --contxt-length 8192", "h100-sxm", 1, "warning", "KV210", "did you mean 'context-length'"),
        (
            SGLANG,
            f"{START} --max-running-requests 4000 --mem-fraction-static 0.3",
            "h100-sxm",
            1,
            "warning",
            "KV502",
            "--max-running-requests",
        ),
        (SGLANG, f"{START} --mem-fraction-static 0.99", "h100-sxm", 1, "warning", "KV505", "--mem-fraction-static 0.9"),
        (
            TGI,
            "--model-id llama-3.1-8b --max-total-tokens 131072 --cuda-memory-fraction 0.3",
            "h100-sxm",
            1,
            "error",
            "KV359",
            "--max-total-tokens",
        ),
        (TGI, "--model-id llama-3.1-8b --max-input-tokens 9 --max-total-tokens 9", "h100-sxm", 1, "error", "KV358", "must be <"),
        (
            TRT,
            "trtllm-serve llama-3.1-8b --max_seq_len 131072 --kv_cache_free_gpu_memory_fraction 0.2",
            "h100-sxm",
            1,
            "warning",
            "KV356",
            "lowers",
        ),
        (TRT, "trtllm-serve llama-3.1-8b --max_num_tokens 131072", "l4", 1, "warning", "KV350", "Impossible to fit"),
    ],
)
def test_findings(tmp_path: Path, image: str, command: str, gpu: str, n_gpus: int, level: str, rule: str, words: str) -> None:  # noqa: PLR0913
    report = checked(tmp_path, image, command, gpu, n_gpus)
    (found,) = [one for one in report.found if one.rule == rule]
    assert found.level == level
    assert words in f"{found.message} | {found.hint}"


@pytest.mark.parametrize(
    ("image", "command"),
    [
        (SGLANG, f"{START} --context-length 32768"),
        (SGLANG.replace("lmsysorg", "me"), f"{START} --my-own-flag 3"),
        (TGI, "--model-id llama-3.1-8b --max-total-tokens 8192"),
        (TRT, "trtllm-serve llama-3.1-8b --max_seq_len 8192 --extra_llm_api_options /nowhere/options.yaml"),
    ],
)
def test_what_holds(tmp_path: Path, image: str, command: str) -> None:
    assert checked(tmp_path, image, command).found == ()


def test_a_pool_that_may_not_hold_the_longest(tmp_path: Path) -> None:
    report = checked(tmp_path, SGLANG, f"{START} --context-length 131072 --mem-fraction-static 0.397")
    (found,) = [one for one in report.found if one.rule == "KV501"]
    assert "may not hold the longest sequence on 1 × h100-sxm" in found.message


def test_options_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "options.yaml").write_text(
        "tensor_parallel_size: 4\nmax_batch_size: 64\nprint_something: true\nenable_attention_dp: false\n"
        "unheard_of: 3\nkv_cache_config:\n  dtype: fp8\ncuda_graph_config:\n  max_batch_size: 8\n",
        encoding="utf-8",
    )
    report = check((str(tmp_path),), Config(root=tmp_path, gpu="h100-sxm"))
    assert report.found == ()
    (case,) = report.cases
    assert (case.reading.tp, case.reading.concurrency, case.reading.kv_dtype, case.reading.version) == (4, 64, "fp8", "1.2.1")
