"""Where a command says that weights go, of models that are no GGUF file, too, and which places llama.cpp doesn't know."""

import pytest

import kvplan
from kvplan.core.errors import RequestError
from kvplan.engines.llamacpp import tables
from kvplan.engines.llamacpp.patterns import expression
from kvplan.engines.llamacpp.places import is_buffer
from kvplan.engines.llamacpp.refusals import refusals
from kvplan.estimator import Options, answer
from tests.engines.llamacpp.resolving import LLAMA, cards, settled

ONE = cards("rtx-4090", 1)


def on_the_gpu(model: str, *words: str) -> int:
    found = answer(Options(command=("llama-server", "-m", model, "-c", "4096", *words), gpu="rtx-4090"))
    return sum(entry.size.best for entry in found.entries if entry.term == "weights" and entry.place == "gpu0")


@pytest.mark.parametrize(
    "words",
    [("-cmoe",), ("-ncmoe", "2147483647"), ("-ot", r"\.ffn_.*_exps\.=CPU"), ("-ot", r"blk\.[[:digit:]]+\.ffn_(gate|up|down)_exps=CPU")],
)
def test_experts_of_a_config_leave_the_gpu(words: tuple[str, ...]) -> None:
    kept = on_the_gpu("gpt-oss-20b", *words)
    assert kept < on_the_gpu("gpt-oss-20b", "-ncmoe", "12") < on_the_gpu("gpt-oss-20b")
    assert kept == on_the_gpu("gpt-oss-20b", "-cmoe")


def test_dense_feed_forwards_of_a_config_leave_the_gpu() -> None:
    moved = on_the_gpu("llama-3.1-8b") - on_the_gpu("llama-3.1-8b", "-ncffn", "2")
    assert moved == 2 * 3 * 4096 * 14336 * 2


def test_towers_are_in_a_file_of_their_own() -> None:
    model = kvplan.load_model("gemma-3-27b")
    towers = sum(group.n_bytes(model.stored_dtype) for group in model.weights if group.role in ("vision", "projector"))
    assert towers > 800_000_000
    assert sum(tensor.n_bytes for tensor in tables.tensors(model)) == model.weight_bytes - towers


def test_names_are_llama_cpps_own_where_they_matter() -> None:
    names = {tensor.name for spec in ("gpt2", "deepseek-v2-lite", "gemma-3n-e4b") for tensor in tables.tensors(kvplan.load_model(spec))}
    assert names >= {"token_embd.weight", "position_embd.weight", "per_layer_token_embd.weight", "per_layer_model_proj.weight"}
    assert names >= {"blk.1.attn_output.weight", "blk.1.ffn_gate_inp.weight", "blk.1.ffn_down_exps.weight", "blk.1.ffn_down_shexp.weight"}


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        (r"blk\.[[:digit:]]+\.", "blk.12.attn_q.weight"),
        (r"[[:nothing:]]", "n:]"),
        (r"[[]q", "[q"),
        (r"[[:punct:]]weight", "x.weight"),
    ],
)
def test_expressions_are_those_of_cpp(pattern: str, name: str, recwarn: pytest.WarningsRecorder) -> None:
    assert expression(pattern).search(name)
    assert not recwarn.list


def test_a_pattern_must_be_an_expression() -> None:
    with pytest.raises(RequestError, match="no regular expression"):
        settled("llama-server -m x -ot (=CPU")


def test_shares_of_nothing_are_as_good_as_none() -> None:
    assert settled("llama-server -m x -ts 0,0").tensor_split == ()
    assert settled("llama-server -m x -ts 0,1").tensor_split == (0.0, 1.0)


@pytest.mark.parametrize("name", ["CPU", "CUDA0", "Vulkan0", "CUDA1", "GPU", "cpu"])
def test_buffers_that_are_not_there_are_refused(name: str) -> None:
    there = name in ("CPU", "CUDA0", "Vulkan0")
    assert is_buffer(name, 1) is there
    said = [refusal.text for refusal in refusals(LLAMA, settled(f"llama-server -m x -ot exps={name}", node=ONE), ONE)]
    assert said == ([] if there else ['error while handling argument "--override-tensor": unknown buffer type'])


def test_a_batch_of_fewer_than_none_is_one_of_all() -> None:
    assert settled("llama-server -m x -b -1 -ub -5").n_batch == settled("llama-server -m x -ub -5").n_ubatch == 2**31 - 1
    assert settled("llama-server -m x -fitc -3").fit_ctx == 2**31 - 1
    with pytest.raises(RequestError, match="no steps of no tokens"):
        settled("llama-server -m x -b 0")


@pytest.mark.parametrize(("main", "place"), [("0", "gpu0"), ("1", "gpu1")])
def test_an_unsplit_model_is_on_the_main_gpu_alone(main: str, place: str) -> None:
    command = ("llama-server", "-m", "qwen3-0.6b", "-c", "4096", "-sm", "none", "-mg", main)
    found = answer(Options(command=command, gpu="rtx-4090:2"))
    assert {entry.place for entry in found.entries if entry.term == "kv_cache"} == {place}
