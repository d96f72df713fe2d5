"""What the counts of test_families can't say: which key a refusal names, where a window lies, what a caveat tells."""

from typing import Any

import pytest

from kvplan.core.model import ModelSpec
from kvplan.specs.build import build
from kvplan.specs.config import ConfigError

GPT2: dict[str, Any] = {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 300, "dtype": "bfloat16"}
NEO: dict[str, Any] = {"model_type": "gpt_neo", "hidden_size": 64, "num_layers": 4, "num_heads": 4, "vocab_size": 300, "dtype": "float32"}
FALCON: dict[str, Any] = {
    "model_type": "falcon",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "vocab_size": 300,
    "dtype": "bfloat16",
}


def spec(config: dict[str, Any], **changed: Any) -> ModelSpec:
    return build({**config, **changed}, where="config.json")


@pytest.mark.parametrize(
    ("config", "changed", "says"),
    [
        pytest.param(GPT2, {"n_embd": None}, "n_embd: missing", id="names-the-family's-own-key"),
        pytest.param(GPT2, {"n_head": 5}, "n_head: expected a divisor of the hidden size 64, found 5", id="heads"),
        pytest.param(GPT2, {"n_layer": "2"}, 'n_layer: expected a whole number from 1 to 4096, found "2"', id="text"),
        pytest.param(
            {**GPT2, "model_type": "gpt_bigcode"},
            {"add_cross_attention": True},
            "add_cross_attention: expected false",
            id="multi-query-cross",
        ),
        pytest.param(NEO, {"attention_types": [[["global", "local"], 3]]}, "attention_types: expected one item for each of 4", id="length"),
        pytest.param(NEO, {"attention_types": [[["global", "near"], 2]]}, "unknown kind of layer 'near'", id="kind"),
        pytest.param(NEO, {"attention_types": [["global", 4]]}, "attention_types: expected items like", id="shape"),
        pytest.param(NEO, {"attention_types": 4}, "attention_types: expected items like", id="no-list"),
        pytest.param(
            FALCON,
            {"new_decoder_architecture": True, "num_kv_heads": 3},
            "num_attention_heads: expected a multiple of the 3 key and value heads",
            id="falcon-kv-heads",
        ),
    ],
)
def test_a_refusal_names_the_key_in_the_family_s_own_words(config: dict[str, Any], changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=r"^config\.json: ") as error:
        spec(config, **changed)
    assert says in error.value.message


def test_gpt_neo_alternates_as_its_file_says() -> None:
    written = spec(NEO, attention_layers=["local", "global", "global", "local"], window_size=32)
    assert [layer.mixers[0].kind for layer in written.layers()] == ["sliding", "full", "full", "sliding"]
    types = spec(NEO, attention_types=[[["global"], 3], [["local"], 1]])
    assert [layer.mixers[0].kind for layer in types.layers()] == ["full", "full", "full", "sliding"]


@pytest.mark.parametrize(
    ("changed", "n_kv_heads"),
    [
        pytest.param({}, 1, id="multi-query"),
        pytest.param({"multi_query": False}, 8, id="multi-head"),
        pytest.param({"new_decoder_architecture": True, "num_kv_heads": 2}, 2, id="grouped"),
        pytest.param({"new_decoder_architecture": True}, 8, id="grouped-by-default-not"),
        pytest.param({"num_kv_heads": 2}, 1, id="old-architecture-has-no-groups"),
    ],
)
def test_falcon_s_key_and_value_heads(changed: dict[str, Any], n_kv_heads: int) -> None:
    (mixer,) = next(spec(FALCON, **changed).layers()).mixers
    assert mixer.kind == "full"
    assert mixer.n_kv_heads == n_kv_heads


def test_alibi_and_computed_positions_leave_no_rotary_table() -> None:
    assert spec(FALCON).form.rotary_dim == 8
    assert spec(FALCON, alibi=True).form.rotary_dim is None


def test_weights_that_transformers_does_not_build_are_told() -> None:
    mpt = {"model_type": "mpt", "d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 300, "dtype": "bfloat16"}
    assert spec(mpt).caveats == ()
    told = spec(mpt, expansion_ratio=2, attn_config={"attn_type": "multiquery_attention"}).caveats
    assert [caveat.level for caveat in told] == ["warning", "warning"]
    assert "attn_config.attn_type" in told[1].message


def test_opt_keeps_its_way_out_of_the_layers_without_a_head() -> None:
    opt = {
        "model_type": "opt",
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "ffn_dim": 100,
        "vocab_size": 300,
        "word_embed_proj_dim": 32,
        "dtype": "float16",
        "architectures": ["OPTModel"],
    }
    names = {group.name for group in spec(opt).weights}
    assert "project_out.weight" in names
    assert "lm_head.weight" not in names
