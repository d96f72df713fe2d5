"""Bad input of every kind: an exit code, words that say what was found and what to do, and no traceback."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.configs import LLAMA
from tests.gguf.writing import header, llama, llama_tensors
from tests.running import Run, refused

GOOD = LLAMA | {"torch_dtype": "float16"}

ARGUMENTS = [
    pytest.param(["estimate", "llama-2-7bb"], "did you mean 'llama-2-7b'", id="a name with a near match"),
    pytest.param(["estimate", "zzzzzz"], "`kvplan models` shows all", id="a name like no other"),
    pytest.param(["estimate"], "no MODEL was named", id="no model"),
    pytest.param(["estimate", ""], "no model was named", id="an empty name"),
    pytest.param(
        ["estimate", "llama-2-7b", "--ctx", "0"], "--ctx: expected a whole number from 1 to 2147483647, found '0'", id="zero tokens"
    ),
    pytest.param(
        ["estimate", "llama-2-7b", "--ctx", "-5"], "--ctx: expected a whole number from 1 to 2147483647, found '-5'", id="negative"
    ),
    pytest.param(["estimate", "llama-2-7b", "--ctx=1.5"], "--ctx: expected a whole number", id="half a token"),
    pytest.param(["estimate", "llama-2-7b", "--batch", "nan"], "--batch: expected a whole number", id="not a number"),
    pytest.param(["estimate", "llama-2-7b", "--ctx", "9" * 30], "--ctx:", id="absurdly many"),
    pytest.param(["estimate", "llama-2-7b", "--ctx", "2000M", "--batch", "2000M"], "--ctx", id="more tokens than any machine"),
    pytest.param(
        ["estimate", "llama-2-7b", "--ctx", "8", "--prompt", "9"], "--prompt: 9 tokens are more than the 8 of --ctx", id="prompt > ctx"
    ),
    pytest.param(["estimate", "llama-2-7b", "--budget", "24"], "write 24GiB or 24GB", id="a size without a unit"),
    pytest.param(["estimate", "llama-2-7b", "--budget", "0GiB"], "--budget: expected a size", id="a size of nothing"),
    pytest.param(["estimate", "llama-2-7b", "--budget", "24GiB", "--gpu", "l4"], "both say how large the device is", id="two devices"),
    pytest.param(["estimate", "llama-2-7b", "--gpus", "2"], "add --gpu", id="how many of what"),
    pytest.param(["estimate", "llama-2-7b", "--gpus", "2", "--budget", "24GiB"], "a --budget is one device", id="two budgets"),
    pytest.param(["estimate", "llama-2-7b", "--require-fit"], "--require-fit needs a device", id="fit into what"),
    pytest.param(
        ["estimate", "llama-2-7b", "--engine", "mlc-chat"],
        "so far only llama.cpp, ollama, sglang, tensorrt-llm, tgi, transformers, vllm",
        id="an engine to come",
    ),
    pytest.param(["estimate", "llama-2-7b", "--gpu", "h10"], "unknown GPU 'h10'", id="an unknown GPU"),
    pytest.param(["estimate", "llama-2-7b", "--engine", "vlllm"], "unknown engine 'vlllm'", id="an unknown engine"),
    pytest.param(["estimate", "llama-2-7b", "--dtype", "bf17"], "unknown element type 'bf17'", id="an unknown dtype"),
    pytest.param(["estimate", "llama-2-7b", "--dtype", "bool"], "unknown element type 'bool', and no", id="weights of truths"),
    pytest.param(["estimate", "llama-2-7b", "--kv-dtype", "q9"], "unknown element type 'q9'", id="an unknown cache type"),
    pytest.param(["estimate", "llama-2-7b", "--attn", "fast"], "'fast' is not one of", id="an unknown choice"),
    pytest.param(["estimate", "llama-2-7b", "--contxt", "8"], "no such option", id="an unknown option"),
    pytest.param(["estimate", "a", "b"], "unexpected extra argument", id="two models"),
    pytest.param(["estimate", "/nowhere/config.json"], "No such file or directory", id="no such file"),
    pytest.param(["estimate", "--", "ollama", "run", "gemma3:27b"], "did you mean 'gemma-3-27b:q4_k_m'", id="a tag of Ollama's library"),
    pytest.param(["estimate", "qwen2.5-14b", "--gpu", "rtx-4090", "--tp", "2"], "hint: name them: --gpu rtx-4090:2", id="cards to name"),
    pytest.param(["estimat", "llama-2-7b"], "did you mean 'estimate'?", id="a misspelt command"),
    pytest.param(["models", "nosuchmodel"], "unknown model", id="no model to list"),
    pytest.param(["gpus", "nosuchgpu"], "unknown GPU 'nosuchgpu'", id="no GPU to list"),
    pytest.param(["verify"], "no MODEL was named", id="nothing to verify"),
    pytest.param(["verify", "llama-2-7b", "--layers", "0"], "--layers: expected a whole number", id="no layers"),
    pytest.param(["estimate", "llama-2-7b", "--ctx"], "option '--ctx' requires an argument", id="a value left out at the end"),
    pytest.param(["estimate", "llama-2-7b", "--ctx", "--", "transformers"], "option '--ctx' requires", id="a value left out before --"),
    pytest.param(["estimate", "llama-2-7b", "-o", "--json"], "'-o' requires an argument, found '--json'", id="a flag for a value"),
    pytest.param(["estimate", "llama-2-7b", "--engine", ""], "unknown engine ''", id="an engine without a name"),
    pytest.param(["estimate", "llama-2-7b", "--engine", "transformers@"], "expected a version after the @", id="an @ without a version"),
    pytest.param(["estimate", "llama-2-7b", "--ctx", "\x1b[31m8\n"], r"found '\x1b[31m8\n'", id="escape sequences"),
    pytest.param(["estimate", "x" * 100_000], "x…x", id="a name without end"),
    pytest.param(["estimate", "a/" * 3000 + "b.json"], "File name too long", id="a path without end"),
    pytest.param(["estimate", "~nosuchuser/b.json"], "there is no such user", id="nobody's home"),
    pytest.param(["estimate", "a\0b.json"], "null", id="a path with a NUL"),
    pytest.param(["estimate", "a\ud800.json"], "a\\ud800.json", id="a path with half a character"),
    pytest.param(["models", "x" * 5000], "unknown model", id="a name without end, to list"),
    pytest.param(["models", "--", "x"], "unexpected words after --", id="words after -- that nothing reads"),
    pytest.param(["verify", ""], "no model was named", id="an empty name, to verify"),
    pytest.param(["verify", "x" * 5000], "unknown model", id="a name without end, to verify"),
    pytest.param(["estimate", "--requests", ""], "expected the name of a file", id="no file of requests"),
    pytest.param(["completion", "tcsh"], "expected one of bash, zsh, fish", id="an unknown shell"),
]

CONFIGS = [
    pytest.param(b"", "the file is empty", id="empty"),
    pytest.param(b"{", ":1:2: invalid JSON", id="cut short"),
    pytest.param(b'{"a": 1,\n "b" 2}', ":2:6: invalid JSON", id="a line and a column"),
    pytest.param(b"[1]", "expected a mapping with text keys, found a list", id="a list"),
    pytest.param(b"null", "found null", id="null"),
    pytest.param(b'{"model_type": "llama", "model_type": "llama"}', "key 'model_type' appears twice", id="a key twice"),
    pytest.param(b'{"model_type": "\xff"}', "expected UTF-8 text, found byte 0xff", id="not UTF-8"),
    pytest.param(b'{"a": ' + b"[" * 100_000, "nested too deeply for a config", id="nested without end"),
    pytest.param(b'{"vocab_size": ' + b"9" * 5000 + b"}", "config.json", id="a number without end"),
    pytest.param(b"{}", "model_type: missing", id="no architecture"),
]

CHANGES = [
    pytest.param({"hidden_size": None}, "hidden_size: missing: expected a whole number", id="a missing key"),
    pytest.param(
        {"hidden_size": "64"}, 'hidden_size: expected a whole number from 1 to 1099511627776, found "64"', id="a word for a number"
    ),
    pytest.param({"hidden_size": -64}, "hidden_size: expected a whole number", id="negative width"),
    pytest.param({"hidden_size": 10**30}, "hidden_size: expected a whole number", id="absurd width"),
    pytest.param({"num_hidden_layers": 10**9}, "num_hidden_layers: expected a whole number from 1 to 4096", id="absurd depth"),
    pytest.param({"vocab_size": True}, "vocab_size: expected a whole number", id="true for a number"),
    pytest.param({"num_attention_heads": 5}, "hidden_size 64 is not a multiple of 5 heads", id="heads that don't divide"),
    pytest.param({"num_key_value_heads": 3}, "expected a divisor of num_attention_heads = 4, found 3", id="kv heads that don't divide"),
    pytest.param({"model_type": "gtp9"}, "unknown architecture 'gtp9'", id="an unknown architecture"),
    pytest.param({"torch_dtype": "float61"}, "torch_dtype: unknown element type 'float61'", id="an unknown dtype"),
    pytest.param({"num_key_value_heads": 8}, "expected a divisor of num_attention_heads = 4, found 8", id="more kv heads than heads"),
    pytest.param({"num_hidden_layers": 0}, "num_hidden_layers: expected a whole number from 1", id="no layers at all"),
    pytest.param({"layer_types": ["full_attention"]}, "expected one item for each of 2 layers, found 1", id="a list too short"),
    pytest.param({"layer_types": [True, True]}, "layer_types: expected a list of strings, found [true, true]", id="truths for words"),
    pytest.param({"model_type": "mistral", "sliding_window": 0}, "sliding_window: expected a whole number from 1", id="no window"),
    pytest.param({"model_type": "gemma3_text", "sliding_window_pattern": 10**9}, "from 1 to 4096, found 1000000000", id="absurd period"),
    pytest.param({"model_type": "phi", "partial_rotary_factor": 2.0}, "expected at most the 16 channels of a head", id="rotating twice"),
    pytest.param({"model_type": "phi", "partial_rotary_factor": -0.5}, "expected a number of at least 0, found -0.5", id="rotating less"),
    pytest.param(
        {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 8}, "expected at most the 4 experts", id="more than all"
    ),
    pytest.param({"architectures": "LlamaForCausalLM"}, "architectures: expected a list of strings", id="a word for a list"),
    pytest.param({"model_type": "\x1b[31m"}, r"unknown architecture '\x1b[31m'", id="escape sequences in a config"),
    pytest.param({"hidden_size": float("nan")}, "hidden_size: expected a whole number from 1 to 1099511627776, found NaN", id="NaN"),
    pytest.param(
        {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": True}},
        "quantization_config.load_in_4bit: expected false beside load_in_8bit",
        id="4 and 8 bits",
    ),
    pytest.param({"tie_word_embeddings": "yes"}, "tie_word_embeddings: expected true or false", id="a word for a truth"),
]


@pytest.mark.parametrize(("argv", "words"), ARGUMENTS)
def test_arguments(kvplan: Run, argv: list[str], words: str) -> None:
    assert words in refused(kvplan, *argv)


@pytest.mark.parametrize(("raw", "words"), CONFIGS)
def test_files(kvplan: Run, tmp_path: Path, raw: bytes, words: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(raw)
    assert words in refused(kvplan, "estimate", str(path))


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_configs(kvplan: Run, tmp_path: Path, change: dict[str, object], words: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(GOOD | change))
    err = refused(kvplan, "estimate", str(path))
    assert words in err
    assert str(path) in err or "torch_dtype" in words


def test_a_directory_without_a_config(kvplan: Run, tmp_path: Path) -> None:
    (tmp_path / "model.bin").touch()
    assert "a directory without config.json (it holds model.bin)" in refused(kvplan, "estimate", str(tmp_path))


def test_a_directory_in_place_of_the_config(kvplan: Run, tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()
    assert "config.json: expected a file, found a directory" in refused(kvplan, "estimate", str(tmp_path))


def test_a_link_to_itself(kvplan: Run, tmp_path: Path) -> None:
    link = tmp_path / "model"
    link.symlink_to(link)
    assert "Too many levels of symbolic links" in refused(kvplan, "estimate", str(link))


def test_a_pipe_that_nobody_writes_to(kvplan: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    assert "the file is empty" in refused(kvplan, "estimate", str(tmp_path))


SPECS = [
    pytest.param('id: ""\nconfig: {}\n', "id: expected a name of printable characters, found ''", id="no name"),
    pytest.param('id: "a\\0b"\nconfig: {}\n', r"found 'a\x00b'", id="a NUL in the name"),
    pytest.param("id: a\nid: b\nconfig: {}\n", "mine.yaml:2:1: key 'id' appears twice", id="a key twice"),
    pytest.param("id: a\nn_params: true\nconfig: {}\n", "n_params: input should be a valid integer", id="true for a number"),
    pytest.param("id: a\nconfig: &c\n  b: *c\n", "its aliases expanded", id="a mapping in itself"),
    pytest.param("id: a\nconfig:\n  b: " + "".join(f"[&{n} " for n in "stuvwxyz") + "0" + "]" * 8, "model_type: missing", id="nested"),
    pytest.param(
        "id: a\nconfig:\n  l0: &l0 [x]\n" + "".join(f"  l{i}: &l{i} [{','.join([f'*l{i - 1}'] * 9)}]\n" for i in range(1, 12)),
        "more than 500000 values, its aliases expanded",
        id="aliases that multiply",
    ),
]


@pytest.mark.parametrize(("text", "words"), SPECS)
def test_spec_files(kvplan: Run, tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    assert words in refused(kvplan, "estimate", str(path))


def test_a_spec_file_with_a_wrong_total(kvplan: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"id: mine\nn_params: 5\nconfig: {json.dumps(GOOD)}\n")
    assert "declared 5, the weight groups sum to" in refused(kvplan, "estimate", str(path))


def test_a_spec_file_with_a_key_too_many(kvplan: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("id: mine\nconfg: {}\n")
    assert "mine.yaml: config: field required" in refused(kvplan, "estimate", str(path))


def test_yaml_that_is_none(kvplan: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("id: [1\nconfig: }")
    assert "mine.yaml:2:" in refused(kvplan, "estimate", str(path))


def test_a_gguf_is_not_taken_for_what_transformers_makes_of_it(kvplan: Run, tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    head, n_data = header(llama(), llama_tensors())
    path.write_bytes(head + bytes(n_data))
    found = kvplan("estimate", str(path), "--engine", "transformers")
    assert found.code == 3
    assert "unpacks to 16 bits" in found.err
    assert "kvplan models" in found.err
    assert kvplan("models", str(path)).code == 0


@pytest.mark.parametrize("command", ["estimate", "sweep", "recommend", "compare", "report", "explain", "check"])
def test_words_too_long_for_a_file(kvplan: Run, command: str) -> None:
    for word in ("x" * 10_000, "a/" * 5_000):
        extra = {"recommend": ("--gpu", "l4"), "compare": (word,)}.get(command, ())
        assert word[:200] in refused(kvplan, command, word, *extra)
