"""Positions that a command puts over the model's config, as vLLM's documents advise for long contexts."""

import json

import pytest

from kvplan.core.errors import RequestError
from kvplan.estimator import Options, answer

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
STRETCHED = {"rope_scaling": YARN}


def asked(version: str, *flags: str) -> tuple[list[str], list[str]]:
    """Refusals and findings of Qwen3-8B, which has 40,960 positions, at 131,072."""
    command = ("vllm", "serve", "qwen3-8b", "--max-model-len", "131072", *flags)
    found = answer(Options(command=command, engine=f"vllm@{version}", gpu="h100-sxm"))
    return [refusal.rule for refusal in found.refusals], [finding.rule for finding in found.findings if finding.level == "warning"]


@pytest.mark.parametrize(
    ("version", "flags", "refused"),
    [
        ("0.8.5", (), ["KV110"]),
        # vllm 0.8.5 config.py, _get_and_verify_max_len: YaRN's factor stretches its original length
        ("0.8.5", ("--rope-scaling", json.dumps(YARN)), []),
        ("0.8.5", ("--hf-overrides", json.dumps(STRETCHED)), []),
        ("0.8.5", ("--hf-overrides", json.dumps({"text_config": STRETCHED})), []),
        ("0.8.5", ("--rope-scaling", json.dumps(YARN | {"factor": 2.0})), ["KV110"]),
        # vllm 0.33.0, the same: the config's limit is taken to be stretched already, and must be said with it
        ("0.33.0", ("--hf-overrides", json.dumps(STRETCHED)), ["KV110"]),
        ("0.33.0", ("--hf-overrides", json.dumps({"rope_parameters": YARN, "max_position_embeddings": 131072})), []),
        ("0.33.0", ("--hf-overrides.max_position_embeddings", "131072"), []),
    ],
)
def test_stretched_positions_are_followed(version: str, flags: tuple[str, ...], refused: list[str]) -> None:
    assert asked(version, *flags)[0] == refused


def test_stretched_positions_are_not_beyond_the_model() -> None:
    assert asked("0.8.5")[1] == ["KV201"]
    assert asked("0.8.5", "--rope-scaling", json.dumps(YARN))[1] == []


def test_other_keys_are_not_followed_and_said() -> None:
    _, warned = asked("0.33.0", "--hf-overrides", '{"max_position_embeddings": 131072, "text_config": {"num_hidden_layers": 2}}')
    assert warned == ["KV211"]


def test_values_that_no_config_holds_are_refused() -> None:
    with pytest.raises(RequestError, match="max_position_embeddings: expected a whole number from 1"):
        asked("0.33.0", "--hf-overrides", '{"max_position_embeddings": "long"}')


@pytest.mark.parametrize("factor", ["-1", "NaN", "Infinity", "1e308", '"4"', "true"])
def test_factors_that_no_config_holds_are_refused(factor: str) -> None:
    with pytest.raises(RequestError, match=r"rope_scaling\.factor: expected a number of at least 0"):
        asked("0.33.0", "--hf-overrides", f'{{"rope_scaling": {{"rope_type": "yarn", "factor": {factor}}}}}')


@pytest.mark.parametrize(
    ("server", "flag", "value"),
    [
        ("vllm serve qwen3-8b --max-model-len 100000", "--hf-overrides", {"max_position_embeddings": 131072}),
        (
            "python -m sglang.launch_server --model-path qwen3-8b --context-length 100000",
            "--json-model-override-args",
            {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
        ),
    ],
)
def test_the_command_that_is_given_back_has_them(server: str, flag: str, value: object) -> None:
    found = answer(Options(command=(*server.split(), flag, json.dumps(value)), gpu="h100-sxm"))
    assert found.refusals == ()
    given_back = found.command
    assert json.loads(given_back[given_back.index(flag) + 1]) == value
    assert answer(Options(command=given_back, gpu="h100-sxm")).refusals == ()


@pytest.mark.parametrize("value", ["{", "[]", "3"])
def test_what_is_no_object_is_refused(value: str) -> None:
    words = ("python", "-m", "sglang.launch_server", "--model-path", "qwen3-8b", "--json-model-override-args", value)
    with pytest.raises(RequestError, match="json-model-override-args"):
        answer(Options(command=words, gpu="h100-sxm"))


def test_no_override_is_none() -> None:
    words = ("python", "-m", "sglang.launch_server", "--model-path", "qwen3-8b", "--json-model-override-args", "{}")
    assert "--json-model-override-args" not in answer(Options(command=words, gpu="h100-sxm")).command
