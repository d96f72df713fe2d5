"""Encoder-decoders: how long the encoder's output is taken to be, what is said about that, and what is refused."""

from typing import Any

import pytest

from kvplan.core.model import ModelSpec
from kvplan.specs.build import build
from kvplan.specs.config import ConfigError

SIDES = {
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": 100,
    "decoder_ffn_dim": 120,
    "vocab_size": 300,
    "dtype": "float32",
}
T5 = {"model_type": "t5", "d_model": 64, "num_layers": 2, "num_heads": 4, "d_kv": 8, "d_ff": 100, "vocab_size": 300, "dtype": "float32"}
MOONSHINE = {
    "model_type": "moonshine",
    "hidden_size": 64,
    "intermediate_size": 100,
    "encoder_num_hidden_layers": 2,
    "decoder_num_hidden_layers": 1,
    "encoder_num_attention_heads": 4,
    "decoder_num_attention_heads": 4,
    "vocab_size": 300,
    "dtype": "float32",
}


def spec(config: dict[str, Any], **changed: Any) -> ModelSpec:
    return build({**config, **changed}, where="config.json")


def source_tokens(model: ModelSpec) -> int:
    (source,) = {mixer.source_tokens for layer in model.layers() for mixer in layer.mixers if mixer.kind == "cross"}
    return source


@pytest.mark.parametrize(
    ("config", "changed", "tokens", "level"),
    [
        # 30 s of audio, always padded to it: arXiv:2212.04356 §2.2
        pytest.param(SIDES, {"model_type": "whisper"}, 1500, None, id="whisper"),
        pytest.param(SIDES, {"model_type": "speech_to_text", "max_source_positions": 6001}, 1501, "note", id="two-strides-of-2"),
        pytest.param(SIDES, {"model_type": "bart"}, 1024, "note", id="bart"),
        pytest.param(SIDES, {"model_type": "led", "max_encoder_position_embeddings": 256}, 256, "note", id="led"),
        pytest.param(T5, {"n_positions": 700}, 700, "note", id="t5-of-the-config"),
        pytest.param(T5, {}, 512, "warning", id="t5-of-pre-training"),
        # ((480000 − 127) // 64 + 1 = 7499, (7499 − 7) // 3 + 1 = 2498, (2498 − 3) // 2 + 1 = 1248
        pytest.param(MOONSHINE, {}, 1248, "warning", id="moonshine-30s"),
    ],
)
def test_the_length_of_the_encoder_s_output(config: dict[str, Any], changed: dict[str, Any], tokens: int, level: str | None) -> None:
    model = spec(config, **changed)
    assert source_tokens(model) == tokens
    assert [caveat.level for caveat in model.caveats] == ([level] if level else [])


def test_the_encoder_is_weights_alone() -> None:
    model = spec(SIDES, model_type="bart")
    assert model.n_layers == 3
    encoder = [group for group in model.weights if group.role == "encoder"]
    assert "expert" not in {group.shard for group in encoder}  # engines split its layers as they split the decoder's
    assert next(group for group in encoder if group.name.endswith("q_proj.weight")).n_copies == 2


def test_a_decoder_alone_reads_no_encoder() -> None:
    model = spec(SIDES, model_type="bart", architectures=["BartForCausalLM"])
    assert {mixer.kind for layer in model.layers() for mixer in layer.mixers} == {"full"}
    assert not [group for group in model.weights if group.role == "encoder"]
    assert "cross_attn.q_proj.weight" in {group.name for layer in model.layers() for group in layer.weights}
    assert [caveat.rule for caveat in model.caveats] == ["KV010"]


@pytest.mark.parametrize(
    ("config", "architecture"),
    [
        pytest.param({**SIDES, "model_type": "bart"}, "BartForSequenceClassification", id="classifier"),
        pytest.param(T5, "T5EncoderModel", id="encoder"),
        pytest.param(T5, "T5ForCausalLM", id="no-such-class"),
        pytest.param({"model_type": "bert"}, "BertForMaskedLM", id="masked"),
    ],
)
def test_what_generates_nothing_is_refused(config: dict[str, Any], architecture: str) -> None:
    with pytest.raises(ConfigError, match=r"config\.json: architectures"):
        spec(config, architectures=[architecture])


@pytest.mark.parametrize(
    ("config", "changed", "says"),
    [
        pytest.param(T5, {"feed_forward_proj": "double-gated-gelu"}, "feed_forward_proj: expected", id="t5-gate"),
        pytest.param({**T5, "model_type": "longt5"}, {"encoder_attention_type": "far"}, "encoder_attention_type: expected", id="longt5"),
        pytest.param({**SIDES, "model_type": "speech_to_text"}, {"num_conv_layers": 3}, "conv_kernel_sizes: expected one", id="kernels"),
        pytest.param({"model_type": "t5gemma"}, {"encoder": {}}, "decoder: missing", id="t5gemma"),
        pytest.param({**SIDES, "model_type": "mbart"}, {"decoder_layers": None}, "decoder_layers: missing", id="mbart"),
        pytest.param(MOONSHINE, {"decoder_num_key_value_heads": 3}, "decoder_num_key_value_heads: expected a divisor of 4", id="moonshine"),
    ],
)
def test_a_refusal_names_the_key(config: dict[str, Any], changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        spec(config, **changed)
    assert says in error.value.message


def test_an_output_projection_of_its_own_is_told_where_transformers_ties() -> None:
    told = spec(T5, n_positions=512, tie_word_embeddings=False).caveats
    assert [caveat.level for caveat in told] == ["note", "warning"]
    assert "19,200 parameters more" in told[1].hint
