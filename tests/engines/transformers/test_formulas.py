"""Formulas as they are shown: filled in, every letter defined, counted in words."""

import pytest

from kvplan.core.workload import Workload
from tests.engines.transformers.running import LATENT, MIXTURE, by_term, deployment, gpu, model

LOAD = Workload(40, 2, 30)


def test_formulas_can_be_filled_in() -> None:
    for flags in ({}, {"kv_dtype": "int8"}, {"forward": "plain"}):
        for entry in deployment(model(), flags, node=gpu()).entries(LOAD):
            assert "{" not in entry.formula.format_map(entry.inputs)


def test_moments_are_named() -> None:
    prefill = by_term(deployment(model()).entries(Workload(41, 2, 40)))["activations"]
    assert prefill.inputs["moment"] == "4H + 3I elements of 2 B; H = 64 (hidden size), I = 176 (feed-forward width)"
    assert prefill.inputs["phase"] == "prefill"
    gathered = by_term(deployment(model(MIXTURE)).entries(Workload(40, 2, 2)))["activations"]
    assert "elements of 2 B, and copies of its experts' weights; i: int64, f: float32, H = 64" in str(gathered.inputs["moment"])
    assert gathered.inputs["phase"] == "decode"


@pytest.mark.parametrize("cache", ["dynamic", "static", "quantized"])
@pytest.mark.parametrize("attn", ["sdpa", "eager", "flash_attention_2"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_every_letter_of_a_moment_is_defined(cache: str, attn: str, dtype: str) -> None:
    windows = {"model_type": "mistral", "sliding_window": 16}
    for config in ({}, windows, MIXTURE, LATENT):
        found = deployment(model(changed=config), cache_implementation=cache, attn_implementation=attn, dtype=dtype, node=gpu((7, 5)))
        for load in (Workload(4000, 1, 3000), Workload(4000, 8, 1), Workload(5, 1, 4)):
            text, _, legend = str(by_term(found.entries(load))["activations"].inputs["moment"]).partition("; ")
            letters = {letter for letter in text.partition(" elements")[0] if letter.isalpha()}
            assert letters == {part.partition(" =")[0].partition(":")[0] for part in legend.split(", ") if " = " in part or ": " in part}


def test_formulas_count_in_words() -> None:
    one, many = (by_term(deployment(model()).entries(load)) for load in (Workload(2, 1, 1), Workload(2, 3, 1)))
    assert one["kv_cache"].formula == "{batch} sequence · ({bytes0} B · {tokens0} tokens)"
    assert many["kv_cache"].formula == "{batch} sequences · ({bytes0} B · {tokens0} tokens)"
    assert one["activations"].formula.endswith("the token holds {moment}")
    assert many["activations"].formula.endswith("each of {batch} × {queries} tokens holds {moment}")


def test_only_windows_are_said_to_hold_all_of_the_prompt() -> None:
    windows = model(model_type="mistral", sliding_window=16)
    assert "windows" in by_term(deployment(windows).entries(LOAD))["kv_cache"].source
    assert "windows" not in by_term(deployment(model()).entries(LOAD))["kv_cache"].source
