"""Peaks of older versions against traces of their own modeling code, and what each version changes.

Each line of the data is a small model that was traced with that version's wheel, the way generate() runs it: prefill, then two decode
steps, bytes beside the weights. Families that a version had not yet moved to the common cache classes are left out.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from kvplan.core.errors import RequestError
from kvplan.core.workload import Workload
from tests.engines.transformers.running import LATENT, MIXTURE, by_term, deployment, gpu, model, settings

DATA = Path(__file__).parents[2] / "data" / "traces" / "transformers-older.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['version']} {row['config']['model_type']}")
def test_peaks_are_those_of_the_older_code(row: dict[str, object]) -> None:
    spec = model(row["config"])  # type: ignore[arg-type]
    for attn, cache, batch, prompt, steps, prefill, decode in row["runs"]:  # type: ignore[attr-defined]
        flags = {"attn_implementation": attn, "cache_implementation": cache}
        deployed, load = deployment(spec, flags, version=str(row["version"]), node=gpu()), Workload(prompt + steps, batch, prompt)
        phases, held = deployed.phases(load), by_term(deployed.entries(load))["weights"].size.best
        assert (phases.prefill_peak_bytes or 0) - held == pytest.approx(prefill, rel=0.012), (attn, cache)
        assert (phases.decode_peak_bytes or 0) - held == pytest.approx(decode, rel=0.03), (attn, cache)


LOAD = Workload(1001, 2, 1000)
WINDOWED = {"model_type": "mistral", "sliding_window": 64}
GROUPED = {"num_key_value_heads": 2}


def peaks(version: str, config: dict[str, object], flags: Mapping[str, str] = MappingProxyType({})) -> tuple[int, int]:
    phases = deployment(model(config), flags, version=version, node=gpu()).phases(LOAD)
    return phases.prefill_peak_bytes or 0, phases.decode_peak_bytes or 0


@pytest.mark.parametrize(
    ("before", "after", "config", "flags", "phase"),
    [
        pytest.param("4.41.2", "4.42.0", {}, {}, 1, id="outputs of the step before are let go of"),
        pytest.param("4.44.2", "4.45.0", {}, {}, 0, id="logits of the last position alone"),
        pytest.param("4.52.4", "4.53.0", WINDOWED, {}, 0, id="masks of yes and no"),
        pytest.param("4.53.3", "4.54.0", GROUPED, {}, 1, id="keys are read in groups"),
        pytest.param("4.55.4", "4.56.0", WINDOWED, {}, 1, id="windows forget"),
        pytest.param("5.3.0", "5.4.0", MIXTURE, {}, 0, id="fewer copies of what experts read"),
        pytest.param("5.5.4", "5.6.0", MIXTURE, {}, 0, id="one copy less"),
        pytest.param("5.15.1", "5.16.0", LATENT, {}, 0, id="latents are cached"),
        pytest.param("5.13.1", "5.14.0", {}, {"cache_implementation": "static"}, 0, id="no mask for a static cache"),
        pytest.param("5.22.0", "5.23.0", GROUPED, {"cache_implementation": "static"}, 1, id="queries are packed"),
    ],
)
def test_each_version_takes_less(before: str, after: str, config: dict[str, object], flags: dict[str, str], phase: int) -> None:
    config = {**model_config(), **config}
    assert peaks(before, config, flags)[phase] > peaks(after, config, flags)[phase]


def model_config() -> dict[str, object]:
    return {
        "model_type": "llama",
        "vocab_size": 2000,
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 8,
        "num_key_value_heads": 1,
        "head_dim": 16,
    }


def test_experts_are_gathered_since_5_0() -> None:
    config = MIXTURE | {"intermediate_size": 4096}
    assert peaks("4.57.6", config)[1] < peaks("5.0.0", config)[1]


def test_rows_of_logits_were_made_in_float32() -> None:
    config = model_config() | {"vocab_size": 2_000_000}
    (before, _), (after, _) = peaks("4.45.0", config), peaks("4.48.0", config)
    assert before - after == 2 * 2_000_000 * 4


@pytest.mark.parametrize(("version", "above"), [("4.44.0", 41), ("4.57.0", 11), ("5.16.0", 11), ("5.17.0", 1)])
def test_older_versions_are_less_sure_and_say_so(version: str, above: int) -> None:
    deployed = deployment(model(), version=version)
    load = Workload(8000, 2, 7999)
    entry = next(entry for entry in deployed.entries(load) if entry.term == "activations")
    peak = int(entry.inputs["peak"])
    assert entry.size.best - entry.size.low == min(entry.size.best, peak * above // 100)
    assert ("KV309" in [finding.rule for finding in deployed.findings]) == (above > 1)


def test_caches_that_a_version_does_not_have() -> None:
    with pytest.raises(RequestError, match=r"transformers 4\.41\.2 has none"):
        settings(model(), {"cache_implementation": "quantized"}, version="4.41.2")
