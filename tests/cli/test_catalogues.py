"""models, gpus, completion, help and version."""

import io
import json
from pathlib import Path

import pytest

from kvplan import __version__
from kvplan.specs import builtin
from tests.cli.configs import LLAMA
from tests.running import Run


def test_models_lists_every_builtin(kvplan: Run) -> None:
    head, *lines = kvplan("models").out.splitlines()
    assert head.split() == ["id", "10⁹", "parameters", "active", "GiB", "context"]
    assert max(len(line) for line in lines) <= 80
    assert [line.split()[0] for line in lines] == builtin.ids()


def test_models_filters_by_words(kvplan: Run) -> None:
    found = json.loads(kvplan("models", "qwen3 moe", "--json").out)["models"]
    assert {"qwen3-30b-a3b", "qwen3-235b-a22b"} <= {model["id"] for model in found}
    assert all("qwen3" in model["id"] for model in found)
    assert len(json.loads(kvplan("models", "qwen3", "--json").out)["models"]) > 10  # qwen3 alone names qwen3-8b, too


def test_one_model_in_detail(kvplan: Run) -> None:
    text = kvplan("models", "mixtral-8x7b").out
    # Jiang et al. 2024, arXiv:2401.04088 table 1: 32 layers, 8 experts of 14336, 2 active
    assert "mixtral-8x7b · MixtralForCausalLM · 32 layers" in text
    assert "32 × full: 32 heads, 8 kv heads, head dim 128\n     moe: 8 experts, 2 active, intermediate 14,336, gated\n" in text
    detail = json.loads(kvplan("models", "mixtral-8x7b", "--json").out)["model"]
    assert sum(group["n_params"] for group in detail["groups"]) == detail["n_params"] == 46_702_792_704
    experts = 32 * 8 * 3 * 4096 * 14336
    assert detail["n_active_params"] == 46_702_792_704 - experts * 6 // 8  # "only uses 13B active parameters", §1
    assert "mistralai/mixtral-8x7b-v0.1" in detail["aliases"]


def test_layers_are_told_within_80_columns(kvplan: Run) -> None:
    text = kvplan("models", "deepseek-v3.2").out
    assert "v head dim 128, q lora rank 1,536, indexer (64 heads, head dim 128,\n      top k 2,048, pool 1 tokens)" in text
    assert max(map(len, text.splitlines()[2:])) <= 80  # behind the line of aliases
    assert "gated delta: 16 k heads" in kvplan("models", "qwen3-next-80b-a3b").out
    assert "window 128 tokens" in kvplan("models", "gpt-oss-20b").out


def test_how_a_model_is_stored_is_said_alike(kvplan: Run) -> None:
    found = [json.loads(kvplan(command, "gpt-oss-20b", "--json").out)["model"] for command in ("models", "estimate")]
    assert [(model["stored_dtype"], model["quantization"]) for model in found] == [("bfloat16", "mxfp4")] * 2
    assert "mxfp4 and bfloat16" in kvplan("models", "gpt-oss-20b").out
    assert "stored as mxfp4 and bfloat16" in kvplan("estimate", "gpt-oss-20b", "--explain").out
    assert json.loads(kvplan("estimate", "llama-2-7b", "--json").out)["model"]["quantization"] is None


def test_what_lies_here_is_meant_before_words(kvplan: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "qwen3").mkdir()
    (tmp_path / "qwen3" / "config.json").write_text(json.dumps(LLAMA))
    monkeypatch.chdir(tmp_path)
    assert json.loads(kvplan("models", "qwen3", "--json").out)["model"]["id"] == "qwen3"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(LLAMA).encode())))
    assert json.loads(kvplan("models", "-", "--json").out)["model"]["id"] == "stdin"  # many ids have a hyphen


def test_layers_that_share_are_said_to(kvplan: Run) -> None:
    assert "keys and values of layer 19" in kvplan("models", "gemma-3n-e4b").out  # the last 15 of 35 layers reuse them


def test_a_spec_of_a_builtin_is_a_model(kvplan: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    assert kvplan("models", "gemma-3-1b", "--spec", "-o", str(path)).code == 0
    mine, theirs = (json.loads(kvplan("estimate", ref, "--json").out) for ref in (str(path), "gemma-3-1b"))
    assert mine["entries"][1:] == theirs["entries"][1:]
    assert (mine["model"]["source"], theirs["model"]["source"]) == ("spec", "builtin")
    assert kvplan("models", str(path), "--spec").out == path.read_text()


def test_a_spec_of_a_config_is_a_model(kvplan: Run, tmp_path: Path) -> None:
    config, spec = tmp_path / "config.json", tmp_path / "mine.yaml"
    config.write_text(json.dumps(LLAMA))
    kvplan("models", str(tmp_path), "--spec", "-o", str(spec))
    assert f"made by kvplan {__version__}" in spec.read_text()
    counted = 2 * (4 * 64 * 64 + 3 * 64 * 176 + 2 * 64) + 2 * 320 * 64 + 64  # two layers, embeddings and head, the last norm
    assert json.loads(kvplan("models", str(spec), "--json").out)["model"]["n_params"] == counted


@pytest.mark.parametrize("argv", [["models", "--spec"], ["models", "-", "--spec"]])
def test_a_spec_needs_a_file_or_a_name(kvplan: Run, argv: list[str]) -> None:
    assert kvplan(*argv).code == 2


def test_gpus(kvplan: Run) -> None:
    text = kvplan("gpus", "h100").out
    assert text.splitlines()[0].split()[:2] == ["id", "name"]
    assert "h100-sxm" in text
    row = next(gpu for gpu in json.loads(kvplan("gpus", "4090", "--json").out)["gpus"] if gpu["id"] == "rtx-4090")
    assert row["driver_bytes"] == 24_564 * 2**20  # what nvidia-smi prints for it
    assert json.loads(kvplan("gpus", "GeForce RTX 4090", "--json").out)["gpus"][0]["id"] == "rtx-4090"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(kvplan: Run, shell: str) -> None:
    assert "_KVPLAN_COMPLETE" in kvplan("completion", shell).out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param("kvplan est", "estimate", id="a command"),
        pytest.param("kvplan estimate llama-2-7", "llama-2-7b", id="a model"),
        pytest.param("kvplan estimate --gpu h100-s", "h100-sxm", id="a GPU"),
        pytest.param("kvplan estimate --dtype bf", "bfloat16", id="an element type"),
        pytest.param("kvplan estimate --engine trans", "transformers", id="an engine"),
        pytest.param("kvplan estimate --attn ea", "eager", id="a choice"),
        pytest.param("kvplan estimate --kv", "--kv-dtype", id="an option"),
    ],
)
def test_the_shell_gets_its_answer(
    kvplan: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str, offered: str
) -> None:
    monkeypatch.setenv("_KVPLAN_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        kvplan()
    begun = words.split()[-1]
    found = [line.split(",")[1] for line in capsys.readouterr().out.split()]
    assert offered in found
    assert all(word.startswith(begun) for word in found)


@pytest.mark.parametrize("argv", [["--help"], ["estimate", "--help"], ["models", "-h"], ["--version"]])
def test_help_answers(kvplan: Run, argv: list[str]) -> None:
    ran = kvplan(*argv)
    assert ran.code == 0
    assert ran.out
    assert ran.err == ""


def test_kvplan_alone_prints_help_and_exits_2(kvplan: Run) -> None:
    ran = kvplan()
    assert (ran.code, ran.out) == (2, "")
    assert "estimate" in ran.err
