"""Settings: reading, defaults, refusals, and the way back to a command."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kvplan.core.device import UNKNOWN_NODE
from kvplan.core.engine import Flag
from kvplan.core.errors import RequestError
from kvplan.core.workload import Workload
from kvplan.engines.transformers.engine import ENGINE
from kvplan.engines.transformers.rules import RULES, VERSIONS, rules_for
from tests.engines.transformers.running import NEWEST, model, settings

LOAD = Workload(8, 1, 7)


def test_defaults() -> None:
    found = settings(model())
    assert found == (
        NEWEST,
        "m",
        "bfloat16",
        "bfloat16",
        "sdpa",
        "dynamic",
        "generate",
        "bfloat16",
        "none",
        "fixed",
        0,
        "",
        "",
        "",
        1,
        1,
        False,
    )


def test_models_without_sdpa_default_to_eager() -> None:
    assert settings(model(model_type="gemma2", head_dim=16)).attn == "eager"
    assert settings(model(model_type="gemma2", head_dim=16), attn_implementation="sdpa").attn == "sdpa"


@pytest.mark.parametrize(
    ("flags", "dtype", "compute", "cache", "kv"),
    [
        pytest.param({"dtype": "fp32"}, "float32", "float32", "dynamic", "float32", id="the cache follows the weights"),
        pytest.param({"kv_dtype": "fp8"}, "bfloat16", "bfloat16", "quantized", "float8_e4m3fn", id="8 bits mean a quantized cache"),
        pytest.param({"cache_implementation": "quantized"}, "bfloat16", "bfloat16", "quantized", "int4", id="its default"),
        pytest.param({"cache_implementation": "static"}, "bfloat16", "bfloat16", "static", "bfloat16", id="static"),
        pytest.param({"kv_dtype": "float16"}, "bfloat16", "bfloat16", "dynamic", "float16", id="a type on paper"),
        pytest.param(
            {"cache_implementation": "static", "kv_dtype": "float32"}, "bfloat16", "bfloat16", "static", "float32", id="static on paper"
        ),
    ],
)
def test_element_types(flags: dict[str, str], dtype: str, compute: str, cache: str, kv: str) -> None:
    found = settings(model(), flags)
    assert (found.dtype, found.compute_dtype, found.cache, found.kv_dtype) == (dtype, compute, cache, kv)


def test_quantized_weights_compute_in_bfloat16() -> None:
    spec = model()._replace(stored_dtype="float8_e4m3fn")
    found = settings(spec)
    assert (found.dtype, found.compute_dtype, found.kv_dtype) == ("float8_e4m3fn", "bfloat16", "bfloat16")
    assert ENGINE.resolve(ENGINE.parse(ENGINE.command(found), {}, NEWEST), LOAD, spec, UNKNOWN_NODE, NEWEST) == found


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"attn_implementation": "spda"}, "did you mean 'sdpa'?"),
        ({"cache_implementation": "offloaded"}, "expected one of"),
        ({"forward": "both"}, "expected one of generate, plain"),
        ({"dtype": "bf15"}, "did you mean"),
        ({"dtype": "bool"}, "from_pretrained loads in float32, float16"),
        ({"dtype": "int4"}, "kvplan's own --dtype int4, before the --"),
        ({"kv_dtype": "int8", "cache_implementation": "dynamic"}, "a dynamic cache can't hold int8"),
        ({"kv_dtype": "float16", "cache_implementation": "quantized"}, "a quantized cache can't hold float16"),
        ({"kv_dtype": "uint8"}, "a dynamic cache can't hold uint8"),
    ],
)
def test_wrong_settings(flags: dict[str, str], words: str) -> None:
    with pytest.raises(RequestError) as raised:
        settings(model(), flags)
    assert words in f"{raised.value.message} {raised.value.hint}"


def test_commands_are_words_of_key_and_value() -> None:
    parsed = ENGINE.parse(("transformers", "org/m", "dtype=float16", "forward=plain"), {}, NEWEST)
    assert (parsed.engine, parsed.version, parsed.model) == ("transformers", NEWEST, "org/m")
    assert parsed.flags == (Flag("dtype", "float16"), Flag("forward", "plain"))
    assert ENGINE.parse(("transformers", "dtype=float16"), {}, NEWEST).model is None
    assert ENGINE.parse(("transformers",), {}, NEWEST).flags == ()


@pytest.mark.parametrize("word", ["dtyp=float16", "sdpa"])
def test_unknown_words(word: str) -> None:
    with pytest.raises(RequestError, match=f"unknown setting '{word}'"):
        ENGINE.parse(("transformers", "org/m", word), {}, NEWEST)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "dtype": st.sampled_from(["auto", "float16", "bf16", "float32"]),
            "attn_implementation": st.sampled_from(["auto", "sdpa", "eager", "flash_attention_2"]),
            "forward": st.sampled_from(["generate", "plain"]),
            "expandable_segments": st.sampled_from(["False", "True"]),
        },
    ),
    st.sampled_from(
        [
            {},
            {"cache_implementation": "static"},
            {"cache_implementation": "quantized"},
            {"kv_dtype": "fp8"},
            {"kv_dtype": "int8", "cache_implementation": "quantized"},
            {"kv_dtype": "float16"},
        ]
    ),
    st.sampled_from(VERSIONS),
)
def test_a_command_gives_its_settings_back(flags: dict[str, str], cache: dict[str, str], version: str) -> None:
    spec, quantized = model(), cache.get("kv_dtype") == "fp8" or cache.get("cache_implementation") == "quantized"
    assume(not quantized or "quantized" in rules_for(version)[0].caches)
    found = settings(spec, {**flags, **cache}, version=version)
    parsed = ENGINE.parse(ENGINE.command(found), {}, version)
    assert ENGINE.resolve(parsed, LOAD, spec, UNKNOWN_NODE, version) == found


def test_shown_settings_leave_the_version_to_the_answer() -> None:
    shown = ENGINE.shown(settings(model()))
    assert shown["attn"] == "sdpa"
    assert "version" not in shown


@pytest.mark.parametrize(
    ("version", "since", "newer"),
    [
        ("4.40.1", "4.40.0", False),
        ("4.57.6", "4.56.0", False),
        ("5.5.0", "5.4.0", False),
        ("5.17.0", "5.17.0", False),
        ("5.20.2", "5.17.0", False),
        ("5.21", "5.21.0", False),
        ("5.24.0", "5.24.0", False),
        ("5.24.1", "5.24.0", False),
        ("5.25.0rc1", "5.24.0", True),
        ("6", "5.24.0", True),
    ],
)
def test_versions(version: str, since: str, newer: bool) -> None:  # noqa: FBT001 - a parameter of the case
    rules, found = rules_for(version)
    assert (rules.since, found) == (since, newer)


def test_rules_say_what_changed_when() -> None:
    # read in the wheels of 5.17.0 to 5.24.0: cache_utils.py, integrations/sdpa_attention.py, models/deepseek_v3; older ones: test_older.py
    assert [(rules.since, rules.fp8_cache, rules.packs_queries, rules.keeps_router) for rules in RULES if not rules.off_by] == [
        ("5.17.0", False, False, False),
        ("5.21.0", True, False, False),
        ("5.23.0", True, True, False),
        ("5.24.0", True, True, True),
    ]


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("4.39.3", "older than the versions"),
        ("main", "is not a version"),
        ("²", "is not a version"),
        ("4.²", "older than the versions"),
        ("", "is not a version"),
    ],
)
def test_versions_that_are_not_modeled(version: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        settings(model(), version=version)
