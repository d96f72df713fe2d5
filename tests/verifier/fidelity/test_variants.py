"""Caches as people spell them, and the bytes that they keep."""

import pytest

import kvplan
from kvplan.core.errors import RequestError
from kvplan.verifier.fidelity import sizes
from kvplan.verifier.fidelity.variant import DEFAULT, Layout, Variant, in_words, parse, variants

QUANTO = Layout("int4", group=64, residual=128)


@pytest.mark.parametrize(
    ("name", "k", "v"),
    [
        pytest.param("int8", Layout("int8"), Layout("int8"), id="a scale for a head"),
        pytest.param("int4:group=32", Layout("int4", group=32), Layout("int4", group=32), id="smaller groups"),
        pytest.param("int4:k=channel", Layout("int4", "channel", 32), Layout("int4"), id="KIVI"),
        pytest.param("int4:k=channel:group=64", Layout("int4", "channel", 64), Layout("int4", group=64), id="larger groups"),
        pytest.param("int2:residual=128", Layout("int2", residual=128), Layout("int2", residual=128), id="the last tokens"),
        pytest.param("int4:rope=before", Layout("int4", rope="before"), Layout("int4"), id="rope is the keys' alone"),
        pytest.param("fp8", Layout("float8_e4m3fn"), Layout("float8_e4m3fn"), id="fp8 is e4m3"),
        pytest.param("q8_0/f16", Layout("q8_0", group=32, rotated=True), Layout("float16"), id="apart"),
        pytest.param("q4_0:rotate=off", Layout("q4_0", group=32), Layout("q4_0", group=32), id="plain blocks"),
        pytest.param("int4:rope=high/int8:group=16", Layout("int4", rope="high"), Layout("int8", group=16), id="options on each side"),
    ],
)
def test_a_name_is_a_layout_of_keys_and_values(name: str, k: Layout, v: Layout) -> None:
    assert parse(name) == Variant(name, k, v)


def test_caches_of_transformers() -> None:
    assert parse("quanto-int4") == Variant("quanto-int4", QUANTO, QUANTO, "quanto")
    assert parse("hqq-int8:group=32:residual=64").k == Layout("int8", group=32, residual=64)
    assert parse("transformers-fp8").backend == "fp8"
    assert "Transformers' own" in in_words(parse("quanto-int4"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("int5", "found 'int5'"),
        ("int4:k=row", "k=token|channel"),
        ("int4:group=x", "group=N"),
        ("int4:group=1", "from 2 on"),
        ("int4:scale=2", "found 'scale=2'"),
        ("int4:group=32:group=16", "each once"),
        ("fp8:group=32", "has no scales"),
        ("q4_0:group=64", "no other groups"),
        ("int4/int4:k=channel", "found 'k=channel'"),
        ("int8/int8/int8", "at most one '/'"),
        ("transformers-fp8:group=2", "no options"),
        ("", "found ''"),
    ],
)
def test_anything_else_is_refused(name: str, words: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse(name)
    assert words in caught.value.message
    assert caught.value.hint


def test_a_list_holds_each_once() -> None:
    assert [one.name for one in variants("int8, int4,int8")] == ["int8", "int4"]
    assert all(in_words(one) for one in variants(",".join(DEFAULT)))


def quantized(model: str, name: str, ctx: int) -> int:
    return sizes.quantized_bytes(sizes.heads(kvplan.load_model(model)), parse(name), ctx)


@pytest.mark.parametrize(
    ("model", "engine", "estimated", "tried"),
    [
        pytest.param("llama-2-7b", "llama.cpp", "q8_0", "q8_0", id="q8_0"),
        pytest.param("qwen3-8b", "llama.cpp", "q4_0", "q4_0", id="q4_0"),
        pytest.param("qwen3-8b", "vllm", "fp8", "fp8", id="fp8"),
        pytest.param("qwen3-8b", "vllm", "auto", "bf16", id="plain"),
    ],
)
def test_bytes_are_those_of_the_estimate(model: str, engine: str, estimated: str, tried: str) -> None:
    plan = kvplan.estimate(model, engine=engine, kv_dtype=estimated, ctx=4096).kv
    assert plan.bytes_per_token * 4096 == quantized(model, tried, 4096)


@pytest.mark.parametrize("bits", [2, 4])
def test_bytes_of_transformers_own_are_those_of_the_estimate(bits: int) -> None:
    plan = kvplan.estimate("llama-2-7b", cache="quantized", kv_dtype=f"int{bits}", ctx=4096).kv
    residual = 128 * 2 * 2 * 32 * 32 * 128  # the estimate holds it beside the whole context, while it comes and goes
    stored = 128 * 2 * 32 * 32 * (128 * bits // 8 + 2 * 4)
    assert quantized("llama-2-7b", f"quanto-int{bits}", 4096) == plan.reserved_bytes - stored
    assert residual > stored


def test_a_channel_has_scales_for_full_groups_alone() -> None:
    heads = (sizes.Head(n=1, k_dim=64, v_dim=64, rotary_dim=16, window_tokens=None),)
    whole = sizes.quantized_bytes(heads, parse("int4:k=channel"), 64)
    assert whole == 64 * 32 + 2 * 64 * 4 + 64 * (32 + 4)
    assert sizes.quantized_bytes(heads, parse("int4:k=channel"), 95) - whole == 31 * 128 + 31 * 36
    assert sizes.quantized_bytes(heads, parse("int4:rope=high"), 1) == 16 * 2 + (48 // 2 + 4) + 36
    assert sizes.quantized_bytes(heads, parse("int4:residual=8"), 6) == sizes.plain_bytes(heads, 6)


def test_a_window_keeps_no_more_than_itself() -> None:
    heads = sizes.heads(kvplan.load_model("gemma-3-1b"))
    assert {head.window_tokens for head in heads} == {512, None}
    full = sum(head.n * (head.k_dim + head.v_dim) * 2 for head in heads if head.window_tokens is None)
    assert sizes.plain_bytes(heads, 2048) - sizes.plain_bytes(heads, 1024) == 1024 * full


@pytest.mark.parametrize("model", ["deepseek-v2-lite", "mamba-130m"])
def test_other_caches_are_refused(model: str) -> None:
    with pytest.raises(RequestError, match=r"not of mla|no keys and values"):
        sizes.heads(kvplan.load_model(model))


def test_groups_must_divide_heads() -> None:
    heads = sizes.heads(kvplan.load_model("llama-2-7b"))
    with pytest.raises(RequestError, match="groups of 48 do not divide heads of 128"):
        sizes.check(heads, parse("int4:group=48"))
    sizes.check(heads, parse("int4:k=channel:group=48/int4"))
