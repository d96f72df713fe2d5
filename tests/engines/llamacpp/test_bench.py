"""llama-bench: lists, of which the largest is what must fit."""

import pytest

from tests.engines.llamacpp.resolving import parsed, settled


@pytest.mark.parametrize(
    ("line", "n_ctx"),
    [
        ("", 512),
        ("-p 0 -n 256", 256),
        ("-p 512,2048 -n 128", 2048),
        ("-p 512 -n 0 -pg 4096,128", 4224),
        ("-p 512 -n 128 -d 0,8192", 8704),
        ("-p 128-1024*2 -n 0", 1024),
        ("-p 128-1000+100 -n 0", 928),
        ("-p 128-1000*1 -n 0", 128),
        ("-p 128-1000+0 -n 0", 128),
        ("-p 1 -p 2 -n 0", 2),
    ],
)
def test_the_context_is_that_of_the_longest_test(line: str, n_ctx: int) -> None:
    """Source: llama.cpp b11434 tools/llama-bench/llama-bench.cpp: n_prompt + n_gen + n_depth of each test."""
    assert settled(f"llama-bench -m x {line}").n_ctx == n_ctx


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("-b 128,512 -ub 64", "n_batch", 512),
        ("-ctk q8_0,f16", "type_k", "f16"),
        ("-fa 0,1", "flash_attn", "off"),
        ("-ngl 10,99,20", "n_gpu_layers", 99),
        ("-ngl 10,-1", "n_gpu_layers", -1),
        ("-nkvo 1", "offload_kqv", False),
        ("-nkvo 0", "offload_kqv", True),
        ("-nopo 1", "op_offload", False),
        ("--no-host 1", "pinned_host", False),
        ("-embd 1", "embeddings", True),
        ("-ts 3/1", "tensor_split", (3.0, 1.0)),
        ("-dev none", "devices", ()),
        ("", "fit", False),
        ("", "n_parallel", 1),
        ("", "cache_ram_mib", 0),
        ("-r 3 -v", "n_batch", 2048),
    ],
)
def test_settings(line: str, field: str, value: object) -> None:
    assert getattr(settled(f"llama-bench -m x {line}"), field) == value


@pytest.mark.parametrize("word", ["--temp", "-c", "-p"])
def test_what_it_does_not_take(word: str) -> None:
    found = parsed(f"llama-bench -m x {word}")
    assert found.refusals[0].text == f"error: invalid parameter for argument: {word}"


@pytest.mark.parametrize("flag", ["-ctk f8", "-p lots", "-ngl some", "-pg 1,x"])
def test_wrong_values(flag: str) -> None:
    found = parsed(f"llama-bench -m x {flag}")
    assert found.refusals[0].at == "parse"
