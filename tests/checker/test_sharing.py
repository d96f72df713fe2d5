"""Which servers run on one GPU at the same time, and which only look like it."""

from pathlib import Path

import pytest

from tests.checker.found import cases

A, B = ("vllm serve o/a --gpu-memory-utilization 0.6", "vllm serve o/b --gpu-memory-utilization 0.6")
DEVICES = "deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, {}, capabilities: [gpu]}}]}}}}}}"
SERVICE = "  {}:\n    image: vllm/vllm-openai\n    command: --model o/a\n    {}\n"


def _neighbors(folder: Path, name: str, text: str) -> list[int]:
    return [len(case.neighbors) for case in cases(folder, {name: text})]


@pytest.mark.parametrize(
    ("script", "n_beside"),
    [
        (f"{A} &\n{B} &\nwait\n", [1, 1]),
        (f"{A} --port 1 & {B} --port 2 &\n", [1, 1]),
        (f"CUDA_VISIBLE_DEVICES=0 {A} &\nCUDA_VISIBLE_DEVICES=0 {B} &\n", [1, 1]),
        (f"CUDA_VISIBLE_DEVICES=0 {A} &\nCUDA_VISIBLE_DEVICES=1 {B} &\n", [0, 0]),
        (f"{A} &\nwait $!\n{B} &\n", [0, 0]),
        (f"{A} &\npkill -f vllm\n{B} &\n", [0, 0]),
        (f"stop_all() {{ kill $P; }}\n{A} &\nP=$!\nstop_all\n{B} &\n", [0, 0]),
        (f"if [ $1 = a ]; then\n{A} &\nelse\n{B} &\nfi\n", [0, 0]),
        (f"one() {{ {A} & }}\ntwo() {{ {B} & }}\n", [0, 0]),
        (f"{A}\n{B}\n", [0, 0]),
    ],
)
def test_scripts(tmp_path: Path, script: str, n_beside: list[int]) -> None:
    assert _neighbors(tmp_path, "run.sh", script) == n_beside


@pytest.mark.parametrize(
    ("first", "second", "n_beside"),
    [
        ('device_ids: ["1"]', 'device_ids: ["1"]', [1, 1]),
        ('device_ids: ["0"]', 'device_ids: ["1"]', [0, 0]),
        ("count: 1", 'device_ids: ["1"]', [0, 0]),
    ],
)
def test_services(tmp_path: Path, first: str, second: str, n_beside: list[int]) -> None:
    text = "services:\n" + SERVICE.format("a", DEVICES.format(first)) + SERVICE.format("b", DEVICES.format(second))
    assert _neighbors(tmp_path, "compose.yaml", text) == n_beside


def test_a_loop_over_what_a_command_prints(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, {"run.sh": "for i in $(seq 1 4); do vllm serve o/a --max-model-len 4096 --port $i; done\n"})
    assert case.parsed
    assert case.parsed.unknown == ()
    assert case.reading.ctx_tokens == 4096
