"""Flags, as vLLM's argument parser reads them."""

import pytest

from kvplan.core.errors import RequestError
from kvplan.engines.vllm.known import known_flags
from tests.engines.vllm.reading import ENTRY, read, said


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        pytest.param("--max-model-len 32k", "max-model-len", "32000", id="decimal k"),
        pytest.param("--max-model-len 32K", "max-model-len", "32768", id="binary K"),
        pytest.param("--max-model-len=25.6k", "max-model-len", "25600", id="fraction"),
        pytest.param("--max-model-len auto", "max-model-len", "-1", id="auto"),
        pytest.param("--max-model-len -1", "max-model-len", "-1", id="negative number"),
        pytest.param("--max_model_len 1M", "max-model-len", "1048576", id="underscores"),
        pytest.param("--max-num-seq 7", "max-num-seqs", "7", id="cut off"),
        pytest.param("--kv-cache-memory 5g", "kv-cache-memory-bytes", "5000000000", id="as the log advises"),
        pytest.param("-tp 2 --tensor-parallel-size 4", "tensor-parallel-size", "4", id="last one wins"),
        pytest.param("-tp=8", "tensor-parallel-size", "8", id="short with a sign"),
        pytest.param("--device-memory-utilization 0.5", "gpu-memory-utilization", "0.5", id="other spelling"),
        pytest.param("--no-enable-prefix-caching", "enable-prefix-caching", "false", id="switched off"),
        pytest.param("--disable-prefix-caching", "enable-prefix-caching", "false", id="opposite"),
        pytest.param("--enable-chunked-prefill False", "enable-chunked-prefill", "false", id="switch with a value"),
        pytest.param("--enforce-eager=true", "enforce-eager", "true", id="switch with a sign"),
        pytest.param("--dtype HALF", "dtype", "half", id="case"),
        pytest.param("-q awq", "quantization", "awq", id="short"),
        pytest.param("-O3", "optimization-level", "3", id="level"),
        pytest.param("-O 0", "optimization-level", "0", id="level apart"),
        pytest.param("-O.cudagraph_mode=NONE", "compilation-config", '{"cudagraph_mode":"NONE"}', id="dotted compilation"),
        pytest.param("-O.cudagraph_mode NONE", "compilation-config", '{"cudagraph_mode":"NONE"}', id="dotted compilation apart"),
        pytest.param("-O '{\"level\":3}'", "compilation-config", '{"level":3}', id="JSON compilation"),
        pytest.param("--compilation-config '{\"a\": 2k}'", "compilation-config", '{"a":2000}', id="k in JSON"),
        pytest.param(
            "--speculative-config.method mtp --speculative_config.num_speculative_tokens=2",
            "speculative-config",
            '{"method":"mtp","num_speculative_tokens":2}',
            id="dotted",
        ),
        pytest.param("-O.a.b 80m --compilation-config.a.c x", "compilation-config", '{"a":{"b":80000000,"c":"x"}}', id="nested"),
        pytest.param("--compilation-config.s+ 1,2 --compilation-config.s+ 3", "compilation-config", '{"s":["1","2","3"]}', id="list"),
        pytest.param("--compilation-config.a 1 --compilation-config.a.b 2", "compilation-config", '{"a":1,"b":2}', id="through a leaf"),
        pytest.param("--cudagraph-capture-sizes 1 2 4 --port 1", "cudagraph-capture-sizes", "1,2,4", id="many"),
        pytest.param(
            '--limit-mm-per-prompt \'{"image": {"count": 3}, "video": 0}\'', "limit-mm-per-prompt", '{"image":3,"video":0}', id="limits"
        ),
        pytest.param("--limit-mm-per-prompt image=2,video=1", "limit-mm-per-prompt", '{"image":2,"video":1}', id="older limits"),
        pytest.param("--served-model-name a b --block-size 32", "block-size", "32", id="after many"),
        pytest.param("--hf-token --block-size 32", "block-size", "32", id="after an optional value"),
        pytest.param("--hf-token x --block-size 32", "block-size", "32", id="after an optional value said"),
    ],
)
def test_one_flag_is_read_as_vllm_reads_it(flags: str, name: str, value: str) -> None:
    assert said(f"vllm serve m {flags}") == {name: value}


@pytest.mark.parametrize("flags", ["--quantization None", "--spec-model ''", "--speculative-config ''"])
def test_some_values_say_nothing(flags: str) -> None:
    assert said(f"vllm serve m {flags}") == {}


@pytest.mark.parametrize(
    ("flags", "version", "word", "hint"),
    [
        pytest.param("--foo 3", "0.33.0", "--foo", "", id="unknown"),
        pytest.param("--max-modellen 3", "0.33.0", "--max-modellen", "did you mean 'max-model-len'", id="misspelt"),
        pytest.param("--foo=3", "0.33.0", "--foo", "", id="unknown with a sign"),
        pytest.param("-zz 3", "0.33.0", "-zz", "", id="unknown short"),
        pytest.param("--watermark 0.1", "0.19.0", "--watermark", "vLLM 0.23 and later take it", id="newer"),
        pytest.param("--swap-space 4", "0.33.0", "--swap-space", "vLLM takes it from 0.6 to before 0.18", id="gone"),
        pytest.param("--worker-use-ray", "0.33.0", "--worker-use-ray", "vLLM takes it from 0.6 to before 0.7", id="switch gone"),
        pytest.param("--cuda-graph-sizes 1 2", "0.33.0", "--cuda-graph-sizes", "vLLM takes it from 0.9 to before 0.13", id="many gone"),
        pytest.param(
            "--disable-prefix-caching",
            "0.31.0",
            "--disable-prefix-caching",
            "did you mean 'enable-prefix-caching'",
            id="opposite before 0.32",
        ),
        pytest.param("--port 1 extra", "0.33.0", "extra", "vLLM takes one model and no other words", id="second word"),
        pytest.param("-- --port", "0.33.0", "--port", "vLLM takes one model and no other words", id="after two dashes"),
    ],
)
def test_what_this_version_does_not_know_is_said(flags: str, version: str, word: str, hint: str) -> None:
    found = read(f"vllm serve m {flags}", version)
    assert [flag.name for flag in found.unknown] == [word]
    (finding,) = found.findings
    assert (finding.rule, finding.level) == ("KV210", "warning")
    assert finding.message == f"vLLM {version} doesn't know '{word}': it would not start"
    assert finding.hint.startswith(hint)
    assert {flag.name for flag in found.flags} == {*ENTRY}


def test_a_pool_may_be_asked_about_in_any_version() -> None:
    found = read("vllm serve m --kv-cache-memory-bytes 5 --swap-space=4", "0.9.2")
    assert {flag.name: flag.value for flag in found.flags if flag.name not in ENTRY} == {"kv-cache-memory-bytes": "5", "swap-space": "4.0"}
    assert [flag.name for flag in found.unknown] == ["--kv-cache-memory-bytes"]


def test_what_bears_on_memory_and_is_not_followed_is_said() -> None:
    found = read("vllm serve m --additional-config '{}' --additional-config '{}' --port 1")
    assert [(finding.rule, finding.message) for finding in found.findings] == [
        ("KV211", "--additional-config bears on memory and is not followed: what a platform's plug-in makes of it is left out")
    ]
    assert [flag.name for flag in found.ignored] == ["port"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("vllm bench m", "nothing in 'vllm bench m' starts a vLLM server"),
        ("python train.py", "starts a vLLM server"),
        ("'vllm serve \"m'", "the command can't be read"),
        ("docker run --rm", "no image was named"),
        ("docker run -e", "no image was named"),
        ("\"LLM(model=f('m'))\"", "can't be read"),
        ("'LLM(m'", "can't be read"),
        ("vllm serve m --max-model-len", "argument --max-model-len: expected one argument"),
        ("vllm serve m --max-model-len --port 1", "argument --max-model-len: expected one argument"),
        ("vllm serve m --served-model-name", "argument --served-model-name: expected at least one argument"),
        ("vllm serve m --max-num 3", "ambiguous option: --max-num could match --max-num-active-seqs, --max-num-batched-tokens"),
        ("vllm serve m --max-model-len 0", "argument --max-model-len: Input should be at least 1, found '0'"),
        ("vllm serve m --max-model-len 1.5K", "Decimals are not allowed with binary suffixes like K"),
        ("vllm serve m --max-model-len many", "argument --max-model-len: invalid int value: 'many'"),
        ("vllm serve m --max-num-seqs 32k", "argument --max-num-seqs: invalid int value: '32k'"),
        ("vllm serve m -tp 0", "argument --tensor-parallel-size: Input should be at least 1"),
        ("vllm serve m --max-num-batched-tokens 99999999999t", "Input should be at least 0"),
        ("vllm serve m --gpu-memory-utilization 1.2", "greater than 0 and less than or equal to 1, found '1.2'"),
        ("vllm serve m --gpu-memory-utilization nan", "invalid float value: 'nan'"),
        ("vllm serve m --kv-cache-dtype fp9", "argument --kv-cache-dtype: invalid choice: 'fp9' (choose from 'auto'"),
        ("vllm serve m --speculative-config {", "Value { cannot be converted to <function loads>"),
        ("vllm serve m --speculative-config '[1]'", "cannot be converted"),
        ("vllm serve m --enforce-eager=perhaps", "argument --enforce-eager: expected true or false, found 'perhaps'"),
        ("VLLM_USE_V1=maybe vllm serve m", "VLLM_USE_V1: expected true or false, found 'maybe'"),
        ("vllm serve m --limit-mm-per-prompt image=x", "argument --limit-mm-per-prompt: invalid int value: 'x'"),
    ],
)
def test_what_vllm_would_not_read_is_refused(line: str, words: str) -> None:
    with pytest.raises(RequestError) as refused:
        read(line)
    assert words in refused.value.message


def test_every_flag_is_known_once_and_from_a_version_on() -> None:
    flags = known_flags()
    assert len(flags) > 370
    assert all(flag.since and flag.name == name for name, flag in flags.items())
