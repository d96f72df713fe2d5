"""Unknown architectures: counted as LLaMA's blocks with a warning where their config resembles it, else refused."""

import pytest

from kvplan.specs.build import build
from kvplan.specs.config import ConfigError

LIKE = {
    "model_type": "brandnew",
    "architectures": ["BrandNewForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 176,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 320,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "torch_dtype": "bfloat16",
}


def test_a_resembling_config_is_counted_and_says_so() -> None:
    spec = build(LIKE, where="config.json")
    # 2 · (2 · 64 · 64 + 2 · 64 · 32 + 3 · 64 · 176 + 2 · 64) + 2 · 320 · 64 + 64
    assert spec.n_params == 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 176 + 2 * 64) + 2 * 320 * 64 + 64
    assert not spec.exact
    assert [caveat.level for caveat in spec.caveats] == ["warning"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"num_experts": 8}, "keys that LLaMA doesn't have", id="experts"),
        pytest.param({"kv_lora_rank": 512}, "kv_lora_rank", id="latent attention"),
        pytest.param({"sliding_window": 128}, "sliding_window", id="a window"),
        pytest.param({"intermediate_size": None}, "intermediate_size missing", id="nothing to count"),
        pytest.param({"hidden_act": "relu2"}, "activation 'relu2'", id="an activation that is never gated"),
        pytest.param({"rms_norm_eps": None, "layer_norm_eps": 1e-5}, "rms_norm_eps missing", id="another norm"),
    ],
)
def test_anything_else_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match="unknown architecture 'brandnew'") as refusal:
        build(LIKE | change, where="config.json")
    assert words in refusal.value.message


def test_a_misspelt_type_gets_near_matches() -> None:
    with pytest.raises(ConfigError) as refusal:
        build(LIKE | {"model_type": "mistrall", "num_experts": 2}, where="config.json")
    assert "mistral" in refusal.value.hint


@pytest.mark.parametrize("name", ["LlamaForCausalLMEagle3", "LlamaForCausalLMWithValueHead", "LlamaForTextEncoding", "LlamaForRewardModel"])
def test_a_class_that_nobody_knows_is_counted_as_the_family_s_with_a_warning(name: str) -> None:
    known = build(LIKE | {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, where="config.json")
    spec = build(LIKE | {"model_type": "llama", "architectures": [name]}, where="config.json")
    assert (spec.n_params, spec.exact, [caveat.rule for caveat in spec.caveats]) == (known.n_params, False, ["KV005"])
    assert name in spec.caveats[0].message


def test_two_families_in_one_config_are_told() -> None:
    spec = build(LIKE | {"model_type": "qwen2", "architectures": ["LlamaForCausalLM"]}, where="config.json")
    assert [caveat.rule for caveat in spec.caveats] == ["KV015"]
    assert build(LIKE | {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}, where="config.json").caveats == ()
