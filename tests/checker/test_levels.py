"""What is an error, and what only may be one."""

from pathlib import Path

import pytest

from kvplan.checker.check import check
from kvplan.checker.config import Config
from kvplan.render.checked import row

ROPE = """'{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}'"""
OVERRIDES = f"""'{{"rope_scaling": {ROPE[1:-1]}}}'"""
IMAGE = "docker run vllm/vllm-openai:v0.8.5 --model"


def _found(folder: Path, text: str, gpu: str) -> tuple[list[str], str]:
    (folder / "run.sh").write_text(text)
    report = check([str(folder)], Config(gpu=gpu, root=folder))
    return [f"{found.level} {found.rule}" for found in report.found if found.level != "note"], row(report.cases[0]).verdict


@pytest.mark.parametrize(
    ("text", "gpu", "findings", "verdict"),
    [
        ("vllm serve llama-3.1-8b --max-model-len 40000", "rtx-4090", ["warning KV102"], "tight"),  # within the interval of the pool
        ("vllm serve llama-3.1-8b --max-model-len 80000", "rtx-4090", ["error KV102"], "does_not_fit"),
        ("vllm serve qwen2.5-7b --dtype half --max-model-len 4096", "t4", ["error KV103"], "does_not_fit"),  # certain, unlike KV105
        ("vllm serve qwen2.5-14b --max-model-len 4096", "t4", ["error KV105"], "does_not_fit"),  # of which KV103 follows
        (f"{IMAGE} qwen3-8b --max-model-len 131072", "h100-sxm", ["error KV110"], "does_not_fit"),
        (f"{IMAGE} qwen3-8b --max-model-len 131072 --rope-scaling {ROPE}", "h100-sxm", [], "fits"),
        (f"{IMAGE} qwen3-8b --max-model-len 131072 --hf-overrides {OVERRIDES}", "h100-sxm", [], "fits"),
        ("llama-server -m llama-3.1-8b -c 4096 --mlocked", "l4", ["warning KV140"], "tight"),  # in a version that is assumed
        (
            "docker run ghcr.io/ggml-org/llama.cpp:server-cuda-b11434 -m llama-3.1-8b -c 4096 --mlocked",
            "l4",
            ["error KV140"],
            "does_not_fit",
        ),
        ("vllm serve llama-3.1-8b --max-model-len 4096 --kv-transfer-config '{}'", "l4", [], "fits"),  # not followed: no fault of theirs
    ],
)
def test_levels(tmp_path: Path, text: str, gpu: str, findings: list[str], verdict: str) -> None:
    assert _found(tmp_path, f"{text}\n", gpu) == (findings, verdict)


def test_what_would_start_is_said(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(
        "vllm serve llama-3.1-8b --max-model-len 4096 -tp 3\n"
        "vllm serve qwen2.5-14b --max-model-len 4096\n"
        "vllm serve llama-3.2-1b --max-model-len 4096 --gpu-memory-utilization 0.99\n"
    )
    report = check([str(tmp_path)], Config(gpu="l4", root=tmp_path))
    fixes = {found.rule: (found.hint, *[f"{fix.flag} {fix.after}" for fix in found.fixes]) for found in report.found}
    assert fixes["KV112"][1:] == ("--tensor-parallel-size 2",)
    assert fixes["KV105"][0].startswith("it starts with --tensor-parallel-size 2 on 2 × l4, or as it is on 1 × ")
    assert fixes["KV104"][0] == "--gpu-memory-utilization 0.97"
    again = (tmp_path / "run.sh").read_text().replace("-tp 3", "-tp 2").replace("4096\n", "4096 -tp 2\n").replace("0.99", "0.97")
    (tmp_path / "run.sh").write_text(again)
    assert [found.rule for found in check([str(tmp_path)], Config(gpu="l4", root=tmp_path)).found if found.level == "error"] == []
