"""SGLang's flags, files, images, and what it refuses."""

import shlex

import pytest

from kvplan.core.device import Node
from kvplan.core.errors import RequestError, UnavailableError
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.sglang.engine import ENGINE
from kvplan.engines.sglang.settings import Settings
from tests.engines.pools.asking import LLAMA, NOWHERE, asked, card, large, rules

LOAD = Workload(4096, 1, 4095)


def settled(flags: str, version: str = "0.5.23", model: ModelSpec = LLAMA, node: Node | None = None) -> Settings:
    parsed = ENGINE.parse(("sglang", "serve", "--model-path", "m", *shlex.split(flags)), {}, version)
    return ENGINE.resolve(parsed, LOAD, model, card("h100-sxm") if node is None else node, version)


@pytest.mark.parametrize(
    ("command", "gpu", "rule"),
    [
        ("sglang serve --model-path llama-3.1-8b --mem-fraction-static 0.15", "h100-sxm", "KV350"),
        ("sglang serve --model-path gpt-oss-20b --max-total-tokens 128", "h100-sxm", "KV350"),
        ("sglang serve --model-path nemotron-h-8b --max-mamba-cache-size 2", "h100-sxm", "KV350"),
        ("sglang serve --model-path llama-3.1-8b --context-length 262144", "h100-sxm", "KV351"),
        ("sglang serve --model-path llama-3.1-8b --tp 3", "h100-sxm:3", "KV352"),
        ("sglang serve --model-path qwen2.5-7b --tp 14", "h100-sxm:14", None),
        ("sglang serve --model-path phi-4 --tp 20", "h100-sxm:20", None),
        ("sglang serve --model-path llama-3.1-8b --tp 2", "h100-sxm", "KV353"),
        ("sglang serve --model-path llama-3.1-70b", "h100-sxm", "KV354"),
        ("sglang serve --model-path llama-3.1-8b --context-length 131072 --mem-fraction-static 0.3", "h100-sxm", "KV356"),
        ("sglang serve --model-path nemotron-h-8b --max-running-requests 4096", "l40s", "KV357"),
        ("sglang serve --model-path llama-3.1-8b --contxt-length 5", "h100-sxm", "KV210"),
        ("sglang serve --model-path llama-3.1-8b --enable-lora", "h100-sxm", "KV211"),
    ],
)
def test_what_it_says_no_to(command: str, gpu: str, rule: str | None) -> None:
    found = asked(command, gpu=gpu)
    assert rule is None or rule in rules(found)


def test_a_longer_context_can_be_forced() -> None:
    command = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 sglang serve --model-path llama-3.1-8b --context-length 262144"
    found = asked(command)
    assert "KV351" not in rules(found)
    assert found.command[0] == "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--tp 0", "--tp-size: expected a whole number, found '0'"),
        ("--tp 4k", "--tp-size: expected a whole number, found '4k'"),
        ("--mem-fraction-static 1.5", "--mem-fraction-static: expected a share over 0, up to 1, found '1.5'"),
        ("--dtype fp8", "dtype=fp8: SGLang runs in float16, bfloat16 or float32"),
        ("--kv-cache-dtype int3", "kv-cache-dtype=int3: SGLang keeps no such cache"),
        ("--swa-full-tokens-ratio x", "--swa-full-tokens-ratio: expected a ratio over 0, found 'x'"),
        ("--pp-size 99", "pp-size=99: the model has 32 layers to share out"),
        ("--tp 4 --dp 3 --enable-dp-attention", "dp-size=3 does not divide tp-size=4"),
        ("--tp", "argument --tp: expected a value"),
        ("--mamba-ssm-dtype int8", "mamba-ssm-dtype=int8: SGLang keeps no states in it"),
        ("--max-total-tokens -1", "--max-total-tokens: expected a number of tokens over 0, found '-1'"),
        ("--context-length 0", "--context-length: expected a number of tokens over 0, found '0'"),
    ],
)
def test_values_that_it_never_takes(flags: str, words: str) -> None:
    with pytest.raises(RequestError, match=words.replace("(", r"\(")):
        settled(flags)


def test_absurdly_large_passes_and_graphs() -> None:
    found = asked("sglang serve --model-path llama-3.1-8b --chunked-prefill-size 999999999999999 --cuda-graph-max-bs 999999999999999")
    assert found.capacity is not None
    assert found.capacity.kv_budget is not None
    low, best, high = found.capacity.kv_budget
    assert low <= best <= high < 0


def test_compressed_attention_is_not_modeled() -> None:
    with pytest.raises(UnavailableError, match="compressed attention"):
        asked("sglang serve --model-path deepseek-v4-flash", gpu="b200:8")


@pytest.mark.parametrize(
    "flags",
    [
        "--tp 2 --context-length 32k --max-running-requests 64 --max-total-tokens 100000 --page-size 16 --disable-cuda-graph",
        "--tp 8 --dp 4 --enable-dp-attention --chunked-prefill-size 8192 --disable-radix-cache",
        "--chunked-prefill-size -1 --kv-cache-dtype fp8_e4m3 --quantization fp8 --dtype float16 --disable-hybrid-swa-memory",
        "--swa-full-tokens-ratio 0.5 --mamba-full-memory-ratio 1.5 --max-mamba-cache-size 9 --mamba-ssm-dtype bfloat16 --pp-size 2",
    ],
)
@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_a_command_gives_its_settings_back(flags: str, version: str) -> None:
    settings = settled(flags, version, node=NOWHERE)
    again = ENGINE.parse(ENGINE.command(settings), {}, version)
    assert ENGINE.resolve(again, LOAD, LLAMA, large(8), version) == settings


def test_files_of_settings() -> None:
    command = ("sglang", "serve", "--config", "a.yaml", "--tp=2")
    assert ENGINE.config_file(command) == "a.yaml"
    content = {
        "tp-size": 4,
        "model-path": "m",
        "disable-radix-cache": True,
        "enable-metrics": False,
        "lora-paths": ["a", "b"],
        "x": {"y": 1},
    }
    words = ENGINE.with_config(command, content)
    assert words == (
        *("sglang", "serve", "--model-path", "m", "--disable-radix-cache", "--lora-paths", "a", "b", "--x", '{"y": 1}'),
        "--tp=2",
    )
    assert ENGINE.config_file(("sglang", "serve")) is None
    assert ENGINE.with_config(("sglang", "serve", "--config=a.yaml"), {}) == ("sglang", "serve")


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("docker run --gpus all lmsysorg/sglang:v0.5.9-cu129 python3 -m sglang.launch_server --model-path m", "0.5.9"),
        ("docker run lmsysorg/sglang:latest --model-path m", "0.5.23"),
        ("docker run nvcr.io/nvidia/sglang:25.10-py3 sglang serve --model m", "0.5.23"),
        ("docker run other/image:1 python3 -m sglang.launch_server --model-path m", "0.5.23"),
    ],
)
def test_images(line: str, version: str) -> None:
    parsed = ENGINE.parse(tuple(shlex.split(line)), {}, "")
    assert (parsed.model, parsed.version) == ("m", version)
