"""Which engine a request means, and what it says to it."""

import shlex
from pathlib import Path

import pytest

from kvplan.core.engine import Flag
from kvplan.core.errors import RequestError
from kvplan.estimator import engines
from kvplan.estimator.options import Options
from kvplan.estimator.registry import find_engine


def asked(line: str = "", **options: str) -> tuple[str, str, dict[str, str], str | None]:
    """Engine, version, flags and model."""
    engine, version, parsed, _ = engines.asked(Options(command=tuple(shlex.split(line)), **options))
    return engine.name, version, {flag.name: flag.value for flag in parsed.flags}, parsed.model


@pytest.mark.parametrize("name", ["llama.cpp", "llamacpp", "llama-server", "llama-cli", "llama"])
def test_names_of_llama_cpp(name: str) -> None:
    assert find_engine(name).name == "llama.cpp"


def test_ollama_is_an_engine_of_its_own() -> None:
    assert find_engine("ollama").name == "ollama"
    assert find_engine("ollama").versions[-1] == "0.34.2"


@pytest.mark.parametrize(
    ("line", "engine", "version"),
    [
        ("llama-server -m x", "llama.cpp", "b11434"),
        ("llama serve -m x", "llama.cpp", "b11434"),
        ("LLAMA_ARG_CTX_SIZE=1 ./bin/llama-cli -m x", "llama.cpp", "b11434"),
        ("llama-perplexity -m x", "llama.cpp", "b11434"),
        ("docker run ghcr.io/ggml-org/llama.cpp:server-cuda-b10236 -m x", "llama.cpp", "b10236"),
        ("ollama run x", "ollama", "0.34.2"),
        ("OLLAMA_NUM_PARALLEL=2 ollama serve", "ollama", "0.34.2"),
        ("docker run ollama/ollama:0.31.1", "ollama", "0.31.1"),
        ("vllm serve meta-llama/Llama-3.1-8B", "vllm", "0.33.0"),
    ],
)
def test_what_a_command_starts(line: str, engine: str, version: str) -> None:
    assert asked(line)[:2] == (engine, version)


def test_versions_are_builds() -> None:
    assert asked(engine="llama.cpp@b11434")[1] == "b11434"
    assert asked("llama-server -m x", engine="llama.cpp@11434")[1] == "b11434"


def test_options_of_kvplan() -> None:
    assert asked("llama-server -m x", kv_dtype="q8_0/f16")[2]["kv-types"] == "q8_0/f16"
    assert asked(engine="ollama", kv_dtype="q8_0")[2] == {"kv-types": "q8_0"}
    assert asked(engine="llama.cpp", dtype="auto")[2] == asked(engine="llama.cpp", dtype="q4_k_m")[2] == {}
    with pytest.raises(RequestError, match=r"--tp: llama\.cpp has nothing"):
        asked(engine="llama.cpp", tp="2")


def test_types_make_another_file_on_paper() -> None:
    meant = engines.asked(Options(engine="llama.cpp", dtype="bfloat16"))[3]
    assert (meant.load_as, meant.checkpoint) == (None, "bfloat16")


def test_a_preset_is_read(tmp_path: Path) -> None:
    file = tmp_path / "models.ini"
    file.write_text("[*]\nctx-size = 4096\n[m]\nmodel = x.gguf\n")
    assert asked(f"llama-server --models-preset {file}")[2:] == ({"app": "server", "ctx-size": "4096"}, "x.gguf")


def test_a_modelfile_is_read(tmp_path: Path) -> None:
    file = tmp_path / "Modelfile"
    file.write_text("FROM ./x.gguf\nPARAMETER num_ctx 65536\n")
    assert asked(f"ollama create m -f {file}")[2:] == ({"app": "ollama", "num_ctx": "65536"}, "./x.gguf")
    with pytest.raises(RequestError, match="No such file"):
        asked(f"ollama create m -f {tmp_path}/none")


def test_flags_are_as_the_command_says_them() -> None:
    assert engines.asked(Options(command=("llama-server", "-m", "x", "-ngl", "3")))[2].flags[1:] == (Flag("n-gpu-layers", "3"),)
