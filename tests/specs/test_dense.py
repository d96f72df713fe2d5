"""Dense decoders: what their configs may leave out, what they may not say, and the heads that classes put on top."""

from typing import Any

import pytest

from kvplan.core.model import ModelSpec
from kvplan.specs.build import build
from kvplan.specs.config import Config, ConfigError
from kvplan.specs.parts.decoder import completed
from kvplan.specs.parts.nested import language_model

SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 320}


def spec(model_type: str, **keys: Any) -> ModelSpec:
    return build({"model_type": model_type, "dtype": "bfloat16", **SIZES, **keys}, where="config.json")


def test_a_whole_config_must_have_its_sizes() -> None:
    config = {key: value for key, value in SIZES.items() if key != "num_hidden_layers"}
    with pytest.raises(ConfigError, match=r"config\.json: num_hidden_layers: missing"):
        build({"model_type": "llama", "dtype": "bfloat16", **config}, where="config.json")


def test_a_config_inside_another_takes_its_sizes_from_its_class() -> None:
    outer = Config({"text_config": {"model_type": "llama", "vocab_size": 32064}}, where="config.json")
    assert language_model(outer).n_params == 6_738_415_616 + 2 * 64 * 4096  # LLaMA-7B with 64 more tokens


def test_null_is_not_completed() -> None:
    cfg = completed(Config({"sliding_window": None}, where="config.json"), {"sliding_window": 4096, "head_dim": 128})
    assert cfg.optional_integer("sliding_window") is None
    assert cfg.integer("head_dim") == 128


@pytest.mark.parametrize(
    ("model_type", "keys", "complaint"),
    [
        pytest.param("llama", {"num_key_value_heads": 3}, "num_key_value_heads: expected a divisor", id="kv-heads"),
        pytest.param("llama", {"num_attention_heads": 7}, "num_attention_heads: hidden_size 64", id="heads"),
        pytest.param("llama", {"per_layer_config": {"0": {"head_dim": 4}}}, "per_layer_config: layers", id="layers-that-differ"),
        pytest.param(
            "qwen3",
            {"num_key_value_heads": 2, "layer_types": ["full_attention"]},
            "layer_types: expected one item for each of 4",
            id="kinds",
        ),
        pytest.param("exaone", {"num_layers": 3}, "num_layers: expected 4, as num_hidden_layers says", id="two-names"),
        pytest.param("exaone4", {"sliding_window_pattern": "LLX"}, "sliding_window_pattern: expected the letters", id="letters"),
        pytest.param("smollm3", {"use_sliding_window": True, "sliding_window": 8, "no_rope_layers": [1]}, "no_rope_layers:", id="marks"),
        pytest.param("qwen", {"intermediate_size": 97}, "intermediate_size: expected an even number", id="odd"),
        pytest.param("chatglm", {"pre_seq_len": 8}, "pre_seq_len: is not supported", id="prompt-encoder"),
        pytest.param("minicpm", {"num_experts": 2, "num_experts_per_tok": 4}, "num_experts_per_tok:", id="experts"),
        pytest.param("apertus1p5_text", {"output_vocab_size": 8, "tie_word_embeddings": True}, "tie_word_embeddings:", id="outputs"),
        pytest.param("gemma4_text", {"per_layer_config": {"1": {"hidden_size": 4}}}, r"per_layer_config\.1\.hidden_size:", id="override"),
        pytest.param("gemma3n_text", {"num_kv_shared_layers": 4}, "num_kv_shared_layers: no layer before", id="nothing-to-share"),
        pytest.param("telechat", {}, "tie_word_embeddings: missing", id="unsaid-tying"),
        pytest.param("nemotron-nas", {"block_configs": [{}] * 3}, "block_configs: expected one item for each of 4", id="blocks"),
    ],
)
def test_refusals_name_the_key(model_type: str, keys: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        spec(model_type, **keys)


def test_a_bare_model_has_no_output_projection() -> None:
    whole, bare = spec("mistral"), spec("mistral", architectures=["MistralModel"])
    assert whole.n_params - bare.n_params == 320 * 64


@pytest.mark.parametrize(
    ("keys", "n_labels"),
    [({}, 2), ({"num_labels": 1}, 1), ({"id2label": {"0": "no", "1": "maybe", "2": "yes"}, "num_labels": 5}, 3)],
    ids=["default", "num_labels", "id2label"],
)
def test_a_classifier_has_a_row_for_each_label(keys: dict[str, Any], n_labels: int) -> None:
    found = spec("qwen3", num_key_value_heads=2, architectures=["Qwen3ForSequenceClassification"], **keys)
    (score,) = [group for group in found.weights if group.name == "score.weight"]
    assert (score.rows, score.cols) == (n_labels, 64)


def test_chatglm_keeps_the_projection_that_its_base_holds() -> None:
    assert any(group.role == "lm_head" for group in spec("chatglm", architectures=["ChatGLMModel"]).weights)


def test_a_head_of_the_repository_is_counted_with_a_warning() -> None:
    found = spec("internlm2", architectures=["InternLM2ForRewardModel"])
    assert [caveat.rule for caveat in found.caveats] == ["KV005"]
    assert not any(group.role == "lm_head" for group in found.weights)


def test_predicted_tokens_stand_apart() -> None:
    found = spec("mimo", num_nextn_predict_layers=2)
    assert [run.n_layers for run in found.mtp] == [2]
    assert found.n_params == spec("mimo").n_params


def test_sharing_layers_read_the_last_layer_of_their_kind() -> None:
    kinds = ["sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"]
    found = spec("gemma4_text", num_hidden_layers=6, num_kv_shared_layers=2, head_dim=8, layer_types=kinds)
    assert [layer.kv_source for layer in found.layers()] == [None, None, None, None, 2, 3]
