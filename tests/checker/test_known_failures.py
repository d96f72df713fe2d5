"""Deployments that are known to fail, and their twins that were mended."""

from pathlib import Path

import pytest

from kvplan.checker.check import check
from kvplan.checker.config import Config

TWO = "CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen2.5-7B --max-model-len 4096 --gpu-memory-utilization SHARE --port 8001 &\n" * 2
FAILURES = {
    "weights of several nodes on one card": (
        "vllm serve deepseek-ai/DeepSeek-V3 --max-model-len 4096\n",
        "vllm serve deepseek-ai/DeepSeek-V3 --max-model-len 4096 -tp 8\n",
        "h200",
    ),
    "30B in 8 bits on 24 GB": (
        "vllm serve Qwen/Qwen3-30B-A3B --quantization fp8 --max-model-len 8192\n",
        "vllm serve Qwen/Qwen3-30B-A3B --quantization fp8 --max-model-len 8192 -tp 2\n",
        "rtx-4090",
    ),
    "14B in 16 bits on 16 GB": (
        "vllm serve deepseek-ai/DeepSeek-R1-Distill-Qwen-14B --max-model-len 4096\n",
        "vllm serve deepseek-ai/DeepSeek-R1-Distill-Qwen-14B --max-model-len 4096 -tp 4 --enforce-eager --gpu-memory-utilization 0.85\n",
        "a2",
    ),
    "beyond the model's positions": (
        "vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --max-model-len 131072\n",
        "vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --max-model-len 32768\n",
        "h100-sxm",
    ),
    "two that want more than a card": (TWO.replace("SHARE", "0.6"), TWO.replace("SHARE", "0.45"), "h100-sxm"),
}


def _errors(folder: Path, text: str, gpu: str) -> list[str]:
    (folder / "run.sh").write_text(text)
    report = check([str(folder)], Config(gpu=gpu, root=folder))
    assert all(case.tried[0].estimate for case in report.cases), [case.tried[0].problem for case in report.cases]
    return sorted({found.rule for found in report.found if found.level == "error"})


@pytest.mark.parametrize("name", FAILURES)
def test_fails_and_its_twin_does_not(name: str, tmp_path: Path) -> None:
    broken, mended, gpu = FAILURES[name]
    assert _errors(tmp_path, broken, gpu)
    assert _errors(tmp_path, mended, gpu) == []
