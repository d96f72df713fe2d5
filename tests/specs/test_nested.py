"""Configs inside configs: what they omit, what their wrapper says of tying, and the table of class defaults."""

import dataclasses
import json

import pytest

from kvplan.specs.build import build
from kvplan.specs.config import Config, ConfigError
from kvplan.specs.parts.nested import DEFAULTS, language_model, with_class_defaults


def outer(**data: object) -> Config:
    return Config(data, where="config.json")


def test_what_an_inner_config_omits_has_its_class_default() -> None:
    text = language_model(outer(text_config={"model_type": "llama", "vocab_size": 32064, "num_hidden_layers": 2}))
    assert (text.hidden_size, text.vocab_size, text.n_layers) == (4096, 32064, 2)


def test_the_wrapper_decides_on_tying() -> None:
    cfg = outer(text_config={"model_type": "llama", "num_hidden_layers": 1, "tie_word_embeddings": True})
    assert language_model(cfg, tied=False).n_params == language_model(cfg).n_params + 32000 * 4096


def test_an_alias_is_read_under_the_class_s_own_name() -> None:
    assert with_class_defaults({"num_local_experts": 4}, "qwen3_vl_moe_text")["num_experts"] == 4


def test_a_null_is_kept() -> None:
    assert with_class_defaults({"sliding_window": None}, "mistral")["sliding_window"] is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "text_config: missing"),
        ({"text_config": {"model_type": "no_such_family"}}, "text_config.model_type: unknown architecture 'no_such_family'"),
    ],
)
def test_no_language_model_is_an_error(data: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        language_model(outer(**data))


def test_an_encoder_that_is_not_counted_is_warned_of() -> None:
    sizes = {"hidden_size": 64, "intermediate_size": 352, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 320}
    plain = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **sizes, "torch_dtype": "bfloat16"}
    assert not build(plain, where="config.json").caveats
    spec = build({**plain, "visual": {"layers": 48, "width": 1664}}, where="config.json")
    assert (spec.exact, [caveat.rule for caveat in spec.caveats]) == (False, ["KV009"])
    assert "config.json: visual" in spec.caveats[0].message


def test_flat_files_need_a_language_model_too() -> None:
    with pytest.raises(ConfigError, match=r"config\.json: text_config: missing"):
        build({"model_type": "glm4v", "vision_config": {"depth": 2}}, where="config.json")


def test_a_null_is_no_near_match_of_itself() -> None:
    with pytest.raises(ConfigError) as refusal:
        outer(hidden_size=None, hidden_sizes=3).integer("hidden_size")
    assert refusal.value.hint == "found similar keys: hidden_sizes"


@pytest.mark.torch
def test_the_table_says_what_the_configuration_classes_say() -> None:
    auto = pytest.importorskip("transformers.models.auto.configuration_auto")
    for line in DEFAULTS.read_text(encoding="utf-8").splitlines():
        model_type, defaults, aliases = line.split("\t")
        cls = auto.CONFIG_MAPPING[model_type]
        fields = {field.name: json.loads(json.dumps(field.default, default=repr)) for field in dataclasses.fields(cls)}
        for key, value in json.loads(defaults).items():
            assert fields[key] == value, f"{model_type}.{key}"
        for alias, field in json.loads(aliases).items():
            assert cls.attribute_map.get(alias) == field or cls.attribute_map.get(field) == alias, model_type
