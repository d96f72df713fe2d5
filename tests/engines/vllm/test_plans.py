"""vLLM 0.33.0's own planning code, run on these models' configs: blocks, log lines, weights as built, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from kvplan.estimator import Options, answer

PLANS = [json.loads(line) for line in (Path(__file__).parents[2] / "data/engines/vllm.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan['model']} {plan['gpu']} {' '.join(plan['flags'][:8])}")
def test_plans_are_those_of_vllm(plan: dict[str, Any]) -> None:
    command = ("vllm", "serve", plan["model"], *plan["flags"])
    found = answer(Options(command=command, engine="vllm@0.33.0", gpu=plan["gpu"], gpus=str(plan["n"]), usage=plan["usage"]))
    if "refused" in plan:
        assert any(refusal.text.startswith(plan["refused"]) for refusal in found.refusals), found.refusals
        return
    assert found.capacity is not None
    assert found.capacity.n_blocks == plan["blocks"]
    assert {refusal.at for refusal in found.refusals} <= {"load"}  # the plans leave the card's own memory out
    assert not found.predicted_log or found.predicted_log[-1] == plan["log"]
    weights = sum(entry.size.best for entry in found.entries if entry.term == "weights")
    assert weights == pytest.approx(plan["weights"], rel=0.005)
