"""From a request to vLLM: which engine a command starts, what its flags limit, what its file says."""

from pathlib import Path

import pytest

import kvplan
from kvplan.core.errors import RequestError
from kvplan.estimator import Estimate, Options, answer


def asked(command: str, **said: str) -> Estimate:
    return answer(Options(command=tuple(command.split()), **said))


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve llama-2-7b",
        "VLLM_LOGGING_LEVEL=DEBUG vllm serve llama-2-7b",
        "/opt/venv/bin/vllm serve llama-2-7b",
        "python3 -m vllm.entrypoints.openai.api_server --model llama-2-7b",
        "uv run --with x vllm serve llama-2-7b",
        "docker run -v /models/transformers:/m vllm/vllm-openai:v0.33.0 --model llama-2-7b",
        "LLM('llama-2-7b')",
    ],
)
def test_the_engine_that_a_command_starts(command: str) -> None:
    found = asked(command)
    assert (found.engine, found.version, found.model.id) == ("vllm", "0.33.0", "llama-2-7b")


def test_an_image_says_the_version_and_the_user_has_the_last_word() -> None:
    command = "docker run vllm/vllm-openai:v0.19.1 --model llama-2-7b"
    assert asked(command).version == "0.19.1"
    assert asked(command, engine="vllm@0.28.0").version == "0.28.0"


def test_a_command_of_no_engine_is_refused() -> None:
    with pytest.raises(RequestError, match="unknown engine 'python'"):
        asked("python train.py")


def test_the_flags_of_a_command_limit_what_can_be_asked() -> None:
    command = "vllm serve llama-2-7b --max-model-len 2048 --max-num-seqs 4"
    found = asked(command, ctx="1024", batch="4")
    assert (found.workload.ctx_tokens, found.settings["max_model_len"]) == (1024, 2048)
    assert asked(command).workload.ctx_tokens == 2048
    with pytest.raises(RequestError, match="--ctx 4096: the command allows 2048 tokens in a sequence"):
        asked(command, ctx="4k")
    with pytest.raises(RequestError, match="--batch 5: the command allows 4 sequences at once"):
        asked(command, batch="5")


def test_without_a_command_the_context_is_the_limit() -> None:
    found = kvplan.estimate("llama-2-7b", engine="vllm", ctx=1000, gpu="h100-sxm")
    assert (found.settings["max_model_len"], found.settings["max_num_seqs"]) == (1000, 1024)
    assert found.command[:5] == ("vllm", "serve", "llama-2-7b", "--max-model-len", "1000")


def test_options_beside_a_command_win() -> None:
    found = asked("vllm serve llama-2-7b --kv-cache-dtype auto -tp 1", kv_dtype="fp8", tp="2", gpu="h100-sxm:2", usage="offline")
    assert [found.settings[key] for key in ("kv_cache_dtype", "tp", "usage")] == ["fp8", 2, "offline"]


def test_a_split_that_nobody_chose_is_stated() -> None:
    found = kvplan.estimate("llama-2-7b", engine="vllm", ctx=1000, gpu="h100-sxm", gpus=6)
    assert found.settings["tp"] == 4
    notes = [finding.message for finding in found.findings if finding.rule == "KV212"]
    assert notes == ["--tp was not said: of 6 GPUs, 4 share each layer, as many as this model can be split over"]
    for silent in (
        kvplan.estimate("llama-2-7b", engine="vllm", ctx=1000, gpu="h100-sxm", gpus=6, tp=2),
        kvplan.estimate("llama-2-7b", engine="vllm", ctx=1000, gpu="h100-sxm"),
        asked("vllm serve llama-2-7b", gpu="h100-sxm:2"),
    ):
        assert "KV212" not in {finding.rule for finding in silent.findings}


def test_cards_that_stay_idle_are_named() -> None:
    found = asked("vllm serve llama-2-7b -tp 2 -pp 2", gpu="h100-sxm:8")
    assert [finding.message for finding in found.findings if finding.rule == "KV213"] == ["4 of 8 GPUs stay idle: these settings use 4"]
    assert "KV213" not in {finding.rule for finding in asked("vllm serve llama-2-7b -dp 2", gpu="h100-sxm:2").findings}


def test_an_option_that_means_nothing_to_the_engine_is_refused() -> None:
    with pytest.raises(RequestError, match="--attn: vllm has nothing that it would change"):
        kvplan.estimate("llama-2-7b", engine="vllm", attn="sdpa")
    with pytest.raises(RequestError, match="--pp: transformers has nothing that it would change"):
        kvplan.estimate("llama-2-7b", pp=2)


def test_a_file_of_settings_is_read(tmp_path: Path) -> None:
    file = tmp_path / "vllm.yaml"
    file.write_text("model: gemma-3-1b\nmax-num-seqs: 8\nmax_num_batched_tokens: 8k\nno-enable-prefix-caching: true\n")
    found = asked(f"vllm serve llama-2-7b --config {file} --max-num-seqs 4")
    keys = ("max_num_seqs", "max_num_batched_tokens", "prefix_caching")
    assert [found.settings[key] for key in keys] == [4, 8000, False]
    assert found.model.id == "llama-2-7b"
    assert asked(f"vllm serve --config {file}").model.id == "gemma-3-1b"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="No such file"):
        asked(f"vllm serve llama-2-7b --config {tmp_path / 'none.yaml'}")
