"""Command lines, read as llama.cpp's argument parser reads them."""

import pytest

from kvplan.core.engine import Flag
from kvplan.core.errors import RequestError
from kvplan.engines.llamacpp.command import parse
from kvplan.engines.llamacpp.flags import UNMODELED, memory_flags
from kvplan.engines.llamacpp.known import others, spellings, variables
from tests.engines.llamacpp.resolving import parsed


def said(line: str, version: str = "") -> dict[str, str]:
    return {flag.name: flag.value for flag in parsed(line, version).flags}


@pytest.mark.parametrize(
    ("line", "app"),
    [
        ("llama-server -m x", "server"),
        ("./build/bin/llama-server -m x", "server"),
        (r"'C:\llama\llama-server.exe' -m x", "server"),
        ("llama-cli -m x", "cli"),
        ("llama-completion -m x", "completion"),
        ("llama-perplexity -m x", "perplexity"),
        ("llama-bench -m x", "bench"),
        ("llama serve -hf a/b", "server"),
        ("numactl -N0 llama-server -m x", "server"),
        ("LLAMA_ARG_CTX_SIZE=1 env X=2 exec llama-server -m x", "server"),
        ("bash -c 'llama-server -m x && echo'", "server"),
        ("docker run ghcr.io/ggml-org/llama.cpp:server -m x", "server"),
        ("docker run ghcr.io/ggml-org/llama.cpp:light -m x", "cli"),
        ("docker run ghcr.io/ggml-org/llama.cpp:full --bench -m x", "bench"),
        ("docker run ghcr.io/ggml-org/llama.cpp:full --run-legacy -m x", "completion"),
        ("docker run ghcr.io/ggml-org/llama.cpp:full -m x", "server"),
        ("docker run --rm -eA=b -p 1:2 --entrypoint /app/llama-cli i:x -m x", "cli"),
        ("docker run i:x sh -c 'llama-server -m x'", "server"),
        ("podman run --entrypoint=/bin/bash i:x -c 'LLAMA_ARG_UBATCH=1 llama-server -m x'", "server"),
    ],
)
def test_programs(line: str, app: str) -> None:
    found = parsed(line)
    assert found.flags[0] == Flag("app", app)
    assert found.model in ("x", "a/b")
    assert not found.refusals


@pytest.mark.parametrize(
    "line", ["ollama run x", "A=1", "llama x", "docker run", "docker run --entrypoint vllm i serve", "bash -c 'a \"b'"]
)
def test_lines_that_start_nothing(line: str) -> None:
    with pytest.raises(RequestError):
        parsed(line)


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("docker run ghcr.io/ggml-org/llama.cpp:server-cuda-b10236 -m x", "b10236"),
        ("docker run ghcr.io/ggml-org/llama.cpp:server-cuda -m x", "b11434"),
        ("docker run ghcr.io/ggml-org/llama.cpp@sha256:b1234b12345 -m x", "b11434"),
        ("llama-server -m x", "b11434"),
    ],
)
def test_an_images_tag_names_the_build(line: str, version: str) -> None:
    assert parsed(line).version == version


def test_what_was_asked_for_wins_over_the_tag() -> None:
    assert parsed("docker run ghcr.io/ggml-org/llama.cpp:server-b10236 -m x", "11434").version == "b11434"
    assert parse(("llama.cpp",), {}, "10236") == parse(("llama.cpp",), {}, "b10236")


@pytest.mark.parametrize(
    ("line", "model", "draft"),
    [
        ("-m a.gguf", "a.gguf", None),
        ("-hf u/m:Q4_K_M", "u/m:Q4_K_M", None),
        ("-hf u/m:Q4_K_M -hff f.gguf -m a.gguf", "u/m:f.gguf", None),
        ("--hf_repo u/m", "u/m", None),
        ("-mu https://huggingface.co/u/m/resolve/main/f.gguf", "https://huggingface.co/u/m/resolve/main/f.gguf", None),
        ("-dr gemma3", "gemma3", None),
        ("-m a.gguf -md d.gguf", "a.gguf", "d.gguf"),
        ("-m a.gguf -md d.gguf -hfd u/d", "a.gguf", "u/d"),
        ("-c 1", None, None),
    ],
)
def test_models(line: str, model: str | None, draft: str | None) -> None:
    found = parsed(f"llama-server {line}")
    assert (found.model, found.draft) == (model, draft)
    assert not {"model", "hf-repo", "spec-draft-model"} & {flag.name for flag in found.flags}


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("-c 4096", "ctx-size", "4096"),
        ("--ctx_size 4096", "ctx-size", "4096"),
        ("-c 1 -c 2", "ctx-size", "2"),
        ("-fa 1", "flash-attn", "on"),
        ("-fa enabled", "flash-attn", "on"),
        ("-fa false", "flash-attn", "off"),
        ("-fa -1", "flash-attn", "auto"),
        ("-ngl all", "n-gpu-layers", "-2"),
        ("-ngl auto", "n-gpu-layers", "-1"),
        ("-ngl -7", "n-gpu-layers", "-2"),
        ("--gpu-layers 99", "n-gpu-layers", "99"),
        ("-nkvo", "kv-offload", "false"),
        ("-nkvo -kvo", "kv-offload", "true"),
        ("-no-kvu", "kv-unified", "false"),
        ("-nr", "repack", "false"),
        ("--swa-full", "swa-full", "true"),
        ("-fit 0", "fit", "off"),
        ("-fitt 512/1024", "fit-target", "512,1024"),
        ("-ts .5,1.50", "tensor-split", "0.5,1.5"),
        ("-sm row", "split-mode", "row"),
        ("-lm mmap+mlock", "load-mode", "mmap+mlock"),
        ("-ctk q4_1", "cache-type-k", "q4_1"),
        ("--swa-checkpoints 3", "ctx-checkpoints", "3"),
    ],
)
def test_flags(line: str, name: str, value: str) -> None:
    found = parsed(f"llama-server -m x {line}")
    assert {flag.name: flag.value for flag in found.flags}[name] == value
    assert (found.refusals, found.findings, found.unknown) == ((), (), ())


@pytest.mark.parametrize(
    ("variable", "name", "value"),
    [
        ("LLAMA_ARG_CTX_SIZE=44000", "ctx-size", "44000"),
        ("LLAMA_ARG_N_PARALLEL=2", "parallel", "2"),
        ("LLAMA_ARG_FLASH_ATTN=off", "flash-attn", "off"),
        ("LLAMA_ARG_KV_OFFLOAD=disabled", "kv-offload", "false"),
        ("LLAMA_ARG_NO_KV_OFFLOAD=1", "kv-offload", "false"),
        ("LLAMA_ARG_SWA_FULL=on", "swa-full", "true"),
        ("LLAMA_ARG_SWA_FULL=0", "swa-full", None),
        ("LLAMA_ARG_MMAP=0", "mmap", None),
    ],
)
def test_variables(variable: str, name: str, value: str | None) -> None:
    """Source: llama.cpp b11434 tools/server/README.md, on environment variables."""
    assert said(f"{variable} llama-server -m x").get(name) == value


def test_flags_win_over_variables_and_those_over_nothing() -> None:
    assert said("LLAMA_ARG_CTX_SIZE=1 llama-server -m x -c 2")["ctx-size"] == "2"
    assert said("LLAMA_ARG_MODEL=y llama-server").get("model") is None
    assert parsed("LLAMA_ARG_MODEL=y llama-server").model == "y"
    assert "kv-unified" not in said("LLAMA_ARG_KV_UNIFIED=1 llama-cli -m x")
    assert parsed("LLAMA_ARG_PORT=1 PATH=2 llama-server -m x").ignored == (Flag("LLAMA_ARG_PORT", "1"),)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("llama-server -m x --no-mmap", "error: invalid argument: --no-mmap"),  # measured on b11434
        ("llama-server -m x --mlock", "error: invalid argument: --mlock"),  # measured on b11434
        ("llama-completion -m x -kvu", "error: invalid argument: -kvu"),  # measured on b11434
        ("llama-server -m x --ctx-size=9", "error: invalid argument: --ctx-size=9"),
        ("llama-server -m x --swa-full=1", "error: invalid argument: --swa-full=1"),
        ("llama-server -m x --temp=1", "error: invalid argument: --temp=1"),
        ("llama-server x", "error: invalid argument: x"),
        ("llama-server -m x --prompt hello", "error: invalid argument: --prompt"),
        ("llama-server -m x -c", 'error while handling argument "-c": expected value for argument'),
        ("llama-server -m x -c big", 'error while handling argument "-c": stoi'),
        ("llama-server -m x -c 99999999999", 'error while handling argument "-c": stoi'),
        ("llama-server -m x -c -np 4", 'error while handling argument "-c": stoi'),
        ("llama-server -m x -ctk q6_K", 'error while handling argument "-ctk": Unsupported cache type: q6_K'),
        ("llama-server -m x -fa -np 2", "error while handling argument \"-fa\": error: unknown value for --flash-attn: '-np'"),
        ("llama-server -m x --fit maybe", "error while handling argument \"--fit\": error: unknown value for --fit: 'maybe'"),
        ("llama-server -m x -sm half", 'error while handling argument "-sm": invalid value'),
        ("llama-server -m x -ot exps", 'error while handling argument "-ot": invalid value'),
        ("llama-server -m x -ts a,1", 'error while handling argument "-ts": stof'),
        (
            "llama-server -m x --draft-max 4",
            'error while handling argument "--draft-max": the argument has been removed. use --spec-draft-n-max or --spec-ngram-mod-n-max',
        ),
        (
            "llama-server -m x --draft-min 4",
            'error while handling argument "--draft-min": the argument has been removed. use --spec-draft-n-min or --spec-ngram-mod-n-min',
        ),
        (
            "LLAMA_ARG_KV_OFFLOAD=x llama-server -m x",
            "error while handling environment variable \"LLAMA_ARG_KV_OFFLOAD\": error: invalid value 'x'",
        ),
        ("llama-server -m x --foo -c big", "error: invalid argument: --foo"),
    ],
)
def test_what_the_parser_stops_at(line: str, text: str) -> None:
    found = parsed(line)
    assert [(refusal.rule, refusal.at, refusal.text) for refusal in found.refusals] == [("KV140", "parse", text)]
    assert found.findings[0].rule == "KV210"


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("llama-server -m x --no-mmap -c 9", "mmap", "false"),
        ("llama-server -m x --ctx-size=9", "ctx-size", "9"),
        ("llama-server -m x -fa -c 9", "flash-attn", "on"),
        ("llama-server -m x -c -np 4", "parallel", "4"),
        ("llama-server -m x --draft-max 4", "draft-max", "4"),
        ("llama-server -m x --foo 3 -c 9", "ctx-size", "9"),
        ("llama-completion -m x -kvu -c 9", "ctx-size", "9"),
    ],
)
def test_the_rest_is_read_all_the_same(line: str, name: str, value: str) -> None:
    assert said(line)[name] == value


@pytest.mark.parametrize(
    ("line", "version", "refused"),
    [
        ("llama-server -m x --no-mmap", "b10883", False),
        ("llama-server -m x -lm none", "b10200", False),
        ("llama-server -m x -lm none", "b9849", True),
        ("llama-server -m x --fit off", "b7405", True),
        ("llama-server -m x --draft-max 4 --draft-min 1", "b9459", False),
        ("llama-server -m x -cram 0", "b6325", True),
        ("LLAMA_ARG_NO_MMAP=1 llama-server -m x", "b9849", False),
    ],
)
def test_builds_know_different_flags(line: str, version: str, *, refused: bool) -> None:
    assert bool(parsed(line, version).refusals) == refused


def test_a_number_that_is_cut_is_said() -> None:
    found = parsed("llama-server -m x -c 32k")
    assert {flag.name: flag.value for flag in found.flags}["ctx-size"] == "32"
    assert [finding.rule for finding in found.findings] == ["KV220"]


def test_unknown_and_ignored_words() -> None:
    found = parsed("llama-server -m x --temp 0.7 --jinja --control-vector-layer-range 1 2 --ctx-sise 9 --port 1 --rpc a:1 -a")
    assert [flag.name for flag in found.ignored] == ["--temp", "--jinja", "--control-vector-layer-range", "--port", "-a"]
    assert found.ignored[2].value == "1 2"
    assert found.unknown == (Flag("--ctx-sise", "9"),)
    assert [finding.rule for finding in found.findings] == ["KV210", "KV211"]
    assert "--ctx-size" in found.findings[0].hint


def test_the_tables_are_consistent() -> None:
    known = {name.lstrip("-") for name in others()} | set(memory_flags())
    assert not set(others()) & set(spellings())
    assert set(UNMODELED) <= known
    assert len(variables()) > 40
    assert all(flag.spellings[-1] == f"--{name}" for name, flag in memory_flags().items())


def test_the_value_of_a_removed_flag_may_be_none() -> None:
    found = parsed("llama-server -m x --draft-max many")
    assert [refusal.rule for refusal in found.refusals] == ["KV140"]
    assert "draft-max" not in [flag.name for flag in found.flags]
