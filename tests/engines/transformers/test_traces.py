"""Peaks against traces of the modeling code of transformers 5.24.0.

Each run really executed every operation of the model on tensors without storage; what was alive at the worst moment of the
prefill and of the decode steps was counted, weights left out. Five of the runs traced are left out: a static cache in
GPT-Neo, one at the border of a window in eager attention, a plain forward of MiniCPM3 and of Beam, and eager attention in the
first layer of a Nemotron-H.
"""

import gzip
import json
from pathlib import Path
from typing import NamedTuple

import pytest

from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from tests.engines.transformers.running import by_term, deployment, gpu, model

DATA = Path(__file__).parents[2] / "data"
TOWERS = ("vision", "audio", "encoder", "projector")


class Run(NamedTuple):
    """One traced run; peaks are bytes beside the weights."""

    attn: str
    cache: str
    forward: str
    dtype: str
    batch: int
    prompt: int
    steps: int
    prefill: int
    decode: int
    padding: str = "none"


class Trace(NamedTuple):
    """A model with few layers of its class's own widths, and its runs."""

    config: dict[str, object]
    runs: tuple[Run, ...]


def traces() -> list[Trace]:
    lines = (DATA / "traces" / "transformers-5.24.0.jsonl").read_text().splitlines()
    return [Trace(row["config"], tuple(Run(*run) for run in row["runs"])) for row in map(json.loads, lines)]


def beside_weights(spec: ModelSpec, run: Run) -> tuple[int, int]:
    settings = {"attn_implementation": run.attn, "cache_implementation": run.cache, "forward": run.forward, "dtype": run.dtype}
    settings["padding"] = run.padding
    deployed, load = deployment(spec, settings, node=gpu()), Workload(run.prompt + run.steps, run.batch, run.prompt)
    phases, held = deployed.phases(load), by_term(deployed.entries(load))["weights"].size.best
    assert phases.prefill_peak_bytes
    assert phases.decode_peak_bytes
    return phases.prefill_peak_bytes - held, phases.decode_peak_bytes - held


@pytest.mark.parametrize("trace", traces(), ids=lambda trace: str(trace.config["model_type"]))
def test_peaks_are_those_of_the_modeling_code(trace: Trace) -> None:
    spec = model(trace.config)
    for run in trace.runs:
        prefill, decode = beside_weights(spec, run)
        assert prefill == pytest.approx(run.prefill, rel=0.01, abs=2**19), run
        assert decode == pytest.approx(run.decode, rel=0.03), run


def test_peaks_of_whole_models(shared: Path) -> None:
    with gzip.open(shared / "oracles" / "transformers.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    assert rows
    for row in rows:
        attn = row["options"].get("attn", "sdpa")
        run = Run(attn, "dynamic", "generate", "bfloat16", row["batch"], row["prompt"], row["new"], row["prefill_peak_bytes"], 0)
        prefill, decode = beside_weights(model(row["config"]), run)
        assert prefill == pytest.approx(run.prefill, rel=0.002), row["id"]
        assert decode == pytest.approx(max(row["decode_peak_bytes"]), rel=0.005), row["id"]


SAME_CODE = {
    "gpt-sw3": "gpt2",
    "glm4v_moe_text": "glm4_moe",
    "qwen3_vl_moe_text": "qwen3_vl_moe",
    "qwen3_omni_moe_text": "qwen3_moe",
    "llava_llama": "llama",
    "multi_modality": "llama",
}
"""Types whose language model is that of another, traced one."""


def test_a_form_is_called_checked_only_where_it_was_traced() -> None:
    traced = {trace.config["model_type"] for trace in traces()} | SAME_CODE.keys()
    for path in sorted((DATA / "families").glob("*.json")):
        for case in json.loads(path.read_text()):
            spec = model(case["config"])
            has_tower = any(group.role in TOWERS for group in spec.weights)  # the language model inside has a type of its own
            assert has_tower or not spec.form.checked or case["config"].get("model_type") in traced, path.name
