"""Command lines, as people paste them."""

import shlex

import pytest

from kvplan.engines.vllm.command import config_file, parse, with_config
from kvplan.engines.vllm.launch import image_version
from tests.engines.vllm.reading import read, said


@pytest.mark.parametrize(
    ("line", "model", "version"),
    [
        pytest.param("vllm serve m", "m", "0.33.0", id="serve"),
        pytest.param("vllm serve --enforce-eager m", "m", "0.33.0", id="model after a switch"),
        pytest.param("vllm serve --model m", "m", "0.33.0", id="model as a flag"),
        pytest.param("/opt/venv/bin/vllm serve m -tp 2", "m", "0.33.0", id="by path"),
        pytest.param("CUDA_VISIBLE_DEVICES=1 python -m vllm.entrypoints.openai.api_server --model m", "m", "0.33.0", id="module"),
        pytest.param("python3 -m vllm.entrypoints.api_server --model=m", "m", "0.33.0", id="older module"),
        pytest.param("uv run --with vllm vllm serve m", "m", "0.33.0", id="uv"),
        pytest.param("env -u X VLLM_USE_V1=0 nohup vllm serve m > log 2>&1 &", "m", "0.33.0", id="redirected"),
        pytest.param("vllm serve m \\\n --port 8000 && echo done", "m", "0.33.0", id="first of two"),
        pytest.param("bash -c 'vllm serve m --port 1'", "m", "0.33.0", id="shell"),
        pytest.param("'vllm serve m --port 1 # here'", "m", "0.33.0", id="one word"),
        pytest.param("docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.11.0 --model m", "m", "0.11.0", id="image"),
        pytest.param("docker run vllm/vllm-openai:latest m", "m", "0.33.0", id="image without a version"),
        pytest.param(
            "docker run -it --rm --gpus='\"device=0\"' -v $(pwd):/w -eA=b --ipc=host vllm/vllm-openai:v0.7.2 --model m",
            "m",
            "0.7.2",
            id="many options",
        ),
        pytest.param("podman run --entrypoint vllm vllm/vllm-openai:v0.19.0 serve m", "m", "0.19.0", id="entrypoint"),
        pytest.param("docker run my/image:v0.19.0 vllm serve m", "m", "0.33.0", id="another image"),
        pytest.param("docker run vllm/vllm-openai:v0.19.0 bash -lc 'vllm serve m'", "m", "0.19.0", id="shell in an image"),
        pytest.param(
            "docker run vllm/vllm-openai:v0.8.5 python3 -m vllm.entrypoints.openai.api_server --model m",
            "m",
            "0.8.5",
            id="module in an image",
        ),
        pytest.param("LLM m tensor_parallel_size=2", "m", "0.33.0", id="keyword arguments"),
        pytest.param("\"LLM('m', tensor_parallel_size=2)\"", "m", "0.33.0", id="call"),
        pytest.param("\"vllm.LLM(model='m')\"", "m", "0.33.0", id="call of the module"),
        pytest.param("vllm", None, "0.33.0", id="no command"),
    ],
)
def test_the_model_and_the_version_of_a_line(line: str, model: str | None, version: str) -> None:
    found = read(line, "")
    assert (found.model, found.version) == (model, version)
    assert found.unknown == ()
    assert {flag.value for flag in found.flags if flag.name == "usage"} == (
        set() if line == "vllm" else {"offline" if "LLM m" in line or "LLM(" in line else "serve"}
    )


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--model", "m", "--max-model-len", "4096"], id="a container's arguments"),
        pytest.param(["serve", "m", "--max-model-len", "4096"], id="behind an entry point"),
        pytest.param(["bash", "-c", "cd /app && vllm serve m --max-model-len 4096 > log 2>&1"], id="after another command"),
        pytest.param(["bash", "-lc", ". venv/bin/activate; vllm serve m --max-model-len 4096 | tee log"], id="a glued semicolon"),
        pytest.param(["sh", "-c", "set -e\nexport A=1\nexec vllm serve m \\\n  --max-model-len 4096"], id="lines of a script"),
        pytest.param(["sh", "-c", "echo 'two\nlines' && vllm serve m --max-model-len 4096"], id="a quotation over lines"),
        pytest.param(["python", "-m", "vllm.entrypoints.cli.main", "serve", "m", "--max-model-len", "4096"], id="the program's module"),
        pytest.param(["llm = LLM(model='m', max_model_len=4096)\nllm.generate('x')"], id="a script in Python"),
    ],
)
def test_what_stands_around_a_command(words: list[str]) -> None:
    found = parse(words, {}, "")
    assert found.model == "m"
    assert {flag.value for flag in found.flags if flag.name == "max-model-len"} == {"4096"}


def test_variables_of_earlier_commands_count() -> None:
    found = parse(["bash", "-c", "export VLLM_PP_LAYER_PARTITION=16,16; vllm serve m"], {}, "")
    assert [flag.value for flag in found.flags if flag.name.startswith("VLLM")] == ["16,16"]


def test_a_version_that_the_user_names_beats_an_image() -> None:
    assert read("docker run vllm/vllm-openai:v0.7.2 --model m", "0.30.0").version == "0.30.0"


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.11.0-cu130", "0.11.0"),
        ("lmcache/vllm-openai:v0.3.9post2", None),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.8.0", None),
        ("vllm/vllm-openai:v0.8.5.post1", "0.8.5.post1"),
        ("registry.local:5000/vllm/vllm-openai:0.19", "0.19"),
        ("vllm/vllm-openai:v0.19.0@sha256:00", "0.19.0"),
        ("vllm/vllm-openai:nightly", None),
        ("registry.local:5000/vllm/vllm-openai", None),
        ("rocm/vllm-dev:20250112", None),
        ("nvcr.io/nvidia/vllm:25.11-py3", None),
        ("ghcr.io/other/server:v0.19.0", None),
    ],
)
def test_the_version_of_an_image(image: str, version: str | None) -> None:
    assert image_version(image) == version


def test_variables_count_and_others_are_listed() -> None:
    found = parse(
        shlex.split("VLLM_USE_V1=0 VLLM_LOGGING_LEVEL=DEBUG HF_TOKEN=x vllm serve m --port 1"), {"VLLM_PP_LAYER_PARTITION": "3,4"}, "0.9.2"
    )
    assert [flag for flag in found.flags if flag.name.startswith("VLLM")] == [
        ("VLLM_PP_LAYER_PARTITION", "3,4", None),
        ("VLLM_USE_V1", "false", None),
    ]
    assert [flag.name for flag in found.ignored] == ["port", "VLLM_LOGGING_LEVEL"]


def test_a_container_hands_its_variables_on() -> None:
    line = "docker run --env VLLM_USE_V1=1 -e HF_TOKEN vllm/vllm-openai:v0.8.5 env VLLM_USE_V1=0 vllm serve m"
    assert {flag.name: flag.value for flag in read(line, "").flags}["VLLM_USE_V1"] == "true"
    assert said("docker run -e VLLM_USE_V1=1 vllm/vllm-openai:v0.8.5 --model m", "") == {"VLLM_USE_V1": "true"}


@pytest.mark.parametrize(
    ("line", "merged"),
    [
        (
            "vllm serve m --config c.yaml -tp 2",
            "vllm serve m --port 1 --no-enable-prefix-caching --lora-modules a b --kv-cache-dtype fp8 -tp 2",
        ),
        (
            "vllm serve --config=c.yaml -tp 2",
            "vllm serve --model z --port 1 --no-enable-prefix-caching --lora-modules a b --kv-cache-dtype fp8 -tp 2",
        ),
        (
            "python -m vllm.entrypoints.openai.api_server --config c.yaml",
            "python -m vllm.entrypoints.openai.api_server --model z --port 1 --no-enable-prefix-caching --lora-modules a b "
            "--kv-cache-dtype fp8",
        ),
    ],
)
def test_a_file_stands_behind_the_model_and_before_the_flags(line: str, merged: str) -> None:
    content = {
        "model": "z",
        "port": 1,
        "enable-prefix-caching": False,
        "no-such-switch": False,
        "lora-modules": ["a", "b"],
        "middleware": [],
        "kv-cache-dtype": "fp8",
    }
    assert config_file(shlex.split(line)) == "c.yaml"
    assert " ".join(with_config(shlex.split(line), content)) == merged


def test_a_file_may_nest_and_switch_on() -> None:
    merged = with_config(["vllm", "serve", "m", "--config", "c"], {"speculative_config": {"method": "mtp"}, "enforce_eager": True})
    assert said(shlex.join(merged)) == {"speculative-config": '{"method":"mtp"}', "enforce-eager": "true"}
    assert config_file(["vllm", "serve", "m"]) is None
    assert config_file(["vllm", "serve", "m", "--config"]) is None
