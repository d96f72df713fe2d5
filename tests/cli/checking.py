"""``kvplan check`` in the tests: two scripts, and its answer."""

import json

import pytest

from kvplan.cli import main

HELD = "vllm serve meta-llama/Llama-2-7b-hf --max-model-len 4096\n"
BEYOND = "vllm serve meta-llama/Llama-2-7b-hf --max-model-len 8192\n"


def answered(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> dict[str, list[dict[str, object]]]:
    assert main(["check", *argv, "--format", "json"]) == code
    answer: dict[str, list[dict[str, object]]] = json.loads(capsys.readouterr().out)
    return answer
