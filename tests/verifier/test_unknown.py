"""Architectures that Transformers knows and kvplan does not: traced, and never guessed at."""

import json
from pathlib import Path

import pytest

from kvplan.core.errors import RequestError, UnavailableError
from kvplan.estimator import Options, estimate
from kvplan.render.verification import as_json, text
from kvplan.specs.config import UnknownArchitectureError
from kvplan.verifier import unknown, verify
from kvplan.verifier.configs import config_of
from tests.verifier.models import write

# RoFormer's decoder: rotary embeddings in layers of BERT's making.
ROFORMER: dict[str, object] = {
    "model_type": "roformer", "architectures": ["RoFormerForCausalLM"], "is_decoder": True, "vocab_size": 100, "embedding_size": 64,
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "max_position_embeddings": 64,
    "dtype": "float32",
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "offered"),
    [
        pytest.param({}, True, id="Transformers may know it"),
        pytest.param({"architectures": None}, False, id="no class"),
        pytest.param({"auto_map": {"AutoModelForCausalLM": "modeling_roformer.RoFormer"}}, False, id="code of its own"),
        pytest.param({"quantization_config": {"quant_method": "awq"}}, False, id="quantized weights can't be random"),
    ],
)
def test_an_estimate_offers_the_trace_where_it_may_work(more: dict[str, object], offered: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a case
    folder = tmp_path / "my model"
    folder.mkdir()
    with pytest.raises(UnknownArchitectureError) as caught:
        estimate(write(folder, ROFORMER | more))
    assert (f"`kvplan verify '{folder}' --backend trace`" in caught.value.hint) is offered
    assert caught.value.message.startswith(f"{folder}/config.json: model_type: unknown architecture 'roformer'")


def test_stdin_can_not_be_read_again() -> None:
    problem = UnknownArchitectureError("config", "unknown", hint="look again", named=True)
    problem.offering("-")
    assert problem.hint == "look again"


@pytest.mark.torch
def test_it_is_traced(tmp_path: Path) -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    pytest.importorskip("transformers", exc_type=ImportError)
    found = verify(write(tmp_path, ROFORMER), ctx=24, prompt=20, batch=2, backend="trace", gpu="t4", timeout_s=240)
    assert found.ok
    assert found.estimate is None
    measured = {(term.term, term.phase): term.measured_bytes for term in found.terms}
    assert measured["kv_cache", "decode"] == 2 * 2 * 24 * 3 * 64 * 4  # keys and values · sequences · tokens · layers · width · bytes
    assert measured["workspace", "load"] == 8519680
    assert {name for name, _ in measured} == {"weights", "kv_cache", "peak", "workspace", "reserved", "reserved_expandable"}
    assert found.record.model
    assert measured["weights", "load"] >= 4 * found.record.model.n_params
    answer = as_json(found)
    assert answer["workload"] == {"ctx_tokens": 24, "batch": 2, "prompt_tokens": 20}
    assert isinstance(answer["terms"], list)
    assert {term["estimate_bytes"] for term in answer["terms"]} == {None}
    assert "kvplan does not know this architecture" in text(found)
    assert "nothing to agree with" in text(found)


@pytest.mark.torch
def test_what_transformers_does_not_know_either_is_refused_in_its_words(tmp_path: Path) -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    pytest.importorskip("transformers", exc_type=ImportError)
    with pytest.raises(UnavailableError, match="has no model for gtp9"):
        verify(write(tmp_path, ROFORMER | {"model_type": "gtp9", "architectures": ["Gtp9ForCausalLM"]}), backend="trace", timeout_s=240)


def test_a_run_needs_an_estimate_that_guards_it(tmp_path: Path) -> None:
    with pytest.raises(UnknownArchitectureError):
        verify(write(tmp_path, ROFORMER), backend="cpu")


@pytest.mark.parametrize(
    ("options", "config", "words"),
    [
        pytest.param(Options(), {"quantization_config": {"quant_method": "awq"}}, "quantized ones need real ones", id="quantized weights"),
        pytest.param(Options(), {"dtype": None}, "expected a type to trace in", id="no type"),
        pytest.param(Options(dtype="int4"), {}, "found int4", id="a type on paper"),
        pytest.param(Options(kv_dtype="float16"), {}, "--kv-dtype", id="a cache of another type"),
        pytest.param(Options(device_map="sequential"), {}, "--device-map", id="a split model"),
        pytest.param(Options(engine="vllm"), {}, "--engine", id="another engine"),
        pytest.param(Options(cache="quantized"), {}, "no quantized cache", id="a quantized cache"),
        pytest.param(Options(prompt="65", ctx="64"), {}, "--prompt", id="a prompt longer than the context"),
    ],
)
def test_what_can_not_be_traced(options: Options, config: dict[str, object], words: str) -> None:
    with pytest.raises(RequestError) as caught:
        unknown.job("roformer", ROFORMER | config, options)
    assert words in caught.value.message
    assert caught.value.hint


def test_what_is_traced_where_little_is_said() -> None:
    made = unknown.job("roformer", ROFORMER, Options())
    assert (made.ctx_tokens, made.batch, made.prompt_tokens, made.dtype, made.attn, made.cache) == (64, 1, 63, "float32", "sdpa", "dynamic")
    text: dict[str, object] = {"model_type": "some", "text_config": {"dtype": "bfloat16"}}
    made = unknown.job("some", text, Options(ctx="8k", batch="3", dtype="auto", cache="static"))
    assert (made.ctx_tokens, made.batch, made.dtype, made.cache) == (8192, 3, "bfloat16", "static")


def test_its_config_is_read_as_it_lies(tmp_path: Path) -> None:
    folder = write(tmp_path, ROFORMER)
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"id: mine\nconfig: {json.dumps(ROFORMER)}\n")
    assert config_of(folder) == config_of(f"{folder}/config.json") == config_of(str(spec)) == ROFORMER
