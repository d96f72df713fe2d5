"""Defaults of vLLM, as its own code sets them. Where no source is named it is vllm 0.33.0 engine/arg_utils.py and config/."""

import pytest

from kvplan.core.engine import Flag
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.core.rope import RopeScaling
from kvplan.core.units import GIB
from kvplan.engines.vllm.length import Length, length
from kvplan.engines.vllm.rules import rules_for
from kvplan.engines.vllm.settings import Lora
from tests.engines.vllm.resolving import HYBRID, LATENT, LLAMA, LOAD, MIXTRAL, NOWHERE, WHISPER, card, chosen, settled


@pytest.mark.parametrize(
    ("asked", "stored", "gpu", "version", "expected"),
    [
        (None, "float16", "h100-sxm", "0.33.0", "float16"),
        (None, "bfloat16", "h100-sxm", "0.33.0", "bfloat16"),
        (None, "bfloat16", "t4", "0.33.0", "float16"),
        (None, "float32", "h100-sxm", "0.33.0", "bfloat16"),
        (None, "float32", "h100-sxm", "0.8.5", "float16"),
        (None, "float32", "t4", "0.33.0", "float16"),
        (None, "float8_e4m3fn", None, "0.33.0", "bfloat16"),
        ("auto", "float16", "h100-sxm", "0.33.0", "float16"),
        ("half", "bfloat16", "h100-sxm", "0.33.0", "float16"),
        ("float", "bfloat16", "h100-sxm", "0.33.0", "float32"),
    ],
)
def test_the_type_that_the_model_runs_in(asked: str | None, stored: str, gpu: str | None, version: str, expected: str) -> None:
    flags = () if asked is None else (Flag("dtype", asked),)
    node = NOWHERE if gpu is None else card(gpu)
    assert chosen(LLAMA._replace(stored_dtype=stored), node, *flags, version=version).dtype == expected


def test_types_in_which_nothing_runs_are_refused() -> None:
    with pytest.raises(RequestError, match="vLLM runs in bfloat16, float16, float32") as refused:
        chosen(LLAMA, NOWHERE, Flag("dtype", "fp8"))
    assert "--quantization fp8" in refused.value.hint
    with pytest.raises(RequestError, match="dtype=int4"):
        chosen(LLAMA, NOWHERE, Flag("dtype", "int4"))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("fp8", "fp8"), ("float8_e4m3fn", "fp8_e4m3"), ("bf16", "bfloat16"), ("auto", "auto"), ("float8_e5m2", "fp8_e5m2")],
)
def test_the_type_of_the_cache_as_vllm_calls_it(asked: str, expected: str) -> None:
    assert chosen(LLAMA, NOWHERE, Flag("kv-cache-dtype", asked)).kv_cache_dtype == expected


@pytest.mark.parametrize("asked", ["q8_0/f16", "int3", "q8_0"])
def test_types_of_the_cache_that_vllm_lacks_are_refused(asked: str) -> None:
    with pytest.raises(RequestError, match="vLLM keeps no such cache"):
        chosen(LLAMA, NOWHERE, Flag("kv-cache-dtype", asked))


@pytest.mark.parametrize(
    ("model", "flags", "version", "caching", "mode", "chunked"),
    [
        (LLAMA, "", "0.33.0", True, "none", True),
        (LLAMA, "--no-enable-prefix-caching", "0.33.0", False, "none", True),
        (LLAMA, "--no-enable-chunked-prefill", "0.33.0", True, "none", False),
        (HYBRID, "", "0.33.0", True, "align", True),
        (HYBRID, "", "0.26.0", True, "all", True),
        (HYBRID, "", "0.25.1", False, "none", True),
        (HYBRID, "--enable-prefix-caching", "0.19.0", True, "all", True),
        (HYBRID, "--enable-prefix-caching --mamba-cache-mode align", "0.19.0", True, "align", True),
        (HYBRID, "--enable-prefix-caching", "0.13.0", True, "all", True),
        (HYBRID, "--enable-prefix-caching", "0.11.0", False, "none", True),
        (HYBRID, "--no-enable-prefix-caching", "0.33.0", False, "none", True),
        (WHISPER, "", "0.33.0", False, "none", False),
        (LLAMA, "", "0.7.3", False, "none", False),
        (LLAMA, "--max-model-len 40k", "0.7.3", False, "none", True),
        (LATENT, "--max-model-len 40k", "0.7.3", False, "none", False),
        (LLAMA, "--max-model-len 40k --enable-lora", "0.7.3", False, "none", False),
        (LLAMA, "--enable-chunked-prefill --enable-prefix-caching", "0.7.3", True, "none", True),
    ],
)  # fmt: skip
def test_prefixes_and_chunks(model: ModelSpec, flags: str, version: str, *, caching: bool, mode: str, chunked: bool) -> None:
    found = settled(flags, version, model)
    assert (found.prefix_caching, found.mamba_cache_mode, found.chunked_prefill) == (caching, mode, chunked)


@pytest.mark.parametrize(
    ("model", "flags", "version", "front", "v2", "overlaps"),
    [
        (LLAMA, "", "0.33.0", "", True, True),
        (LLAMA, "", "0.33.0", "VLLM_USE_V2_MODEL_RUNNER=0", False, True),
        (LLAMA, "", "0.22.1", "", False, True),
        (LLAMA, "", "0.24.0", "", True, True),
        (MIXTRAL, "", "0.24.0", "", False, True),
        (HYBRID, "", "0.28.0", "", False, True),
        (HYBRID, "", "0.29.0", "", True, True),
        (LLAMA, "", "0.13.0", "", False, False),
        (LLAMA, "--async-scheduling", "0.13.0", "", False, True),
        (LLAMA, "--no-async-scheduling", "0.33.0", "", True, False),
        (LLAMA, "--distributed-executor-backend ray", "0.33.0", "", True, False),
        (LLAMA, "-pp 2", "0.14.1", "", False, False),
        (LLAMA, "-pp 2", "0.19.0", "", False, True),
        (LLAMA, "--spec-method ngram --spec-tokens 3", "0.33.0", "", True, True),
        (LLAMA, "--spec-method suffix --spec-tokens 3", "0.33.0", "", False, False),
        (LLAMA, "--spec-method ngram --spec-tokens 3", "0.22.1", "", False, False),
    ],
)
def test_the_runner_and_whether_steps_overlap(model: ModelSpec, flags: str, version: str, front: str, *, v2: bool, overlaps: bool) -> None:
    found = settled(flags, version, model, front=front)
    assert (found.v2_runner, found.async_scheduling) == (v2, overlaps)


@pytest.mark.parametrize(
    ("limit", "rope", "version", "expected"),
    [
        (4096, (), "0.33.0", Length(4096, 4096)),
        (None, (), "0.33.0", Length(None, 2048)),
        (4096, (RopeScaling("linear", 4.0, None),), "0.33.0", Length(16384, 16384)),
        (4096, (RopeScaling("dynamic", 2.5, None),), "0.33.0", Length(10240, 10240)),
        (131072, (RopeScaling("linear", 8.0, None, applied=True),), "0.33.0", Length(131072, 131072)),
        (131072, (RopeScaling("llama3", 8.0, 8192),), "0.33.0", Length(131072, 131072)),
        (131072, (RopeScaling("longrope", 1.0, 4096),), "0.33.0", Length(131072, 4096)),
        (32768, (RopeScaling("yarn", 4.0, 32768),), "0.33.0", Length(32768, 32768)),
        (32768, (RopeScaling("yarn", 4.0, 32768),), "0.29.0", Length(131072, 131072)),
        (32768, (RopeScaling("yarn", 4.0, None),), "0.29.0", Length(32768, 32768)),
        (131072, (RopeScaling("default", 1.0, None), RopeScaling("linear", 2.0, None)), "0.33.0", Length(262144, 262144)),
    ],
)
def test_the_longest_sequence(limit: int | None, rope: tuple[RopeScaling, ...], version: str, expected: Length) -> None:
    assert length(LLAMA._replace(max_ctx_tokens=limit, rope=rope), rules_for(version)[0]) == expected


def test_the_length_as_said_by_default_and_by_the_workload() -> None:
    assert settled().max_model_len == 4096
    assert settled("--max-model-len 100").max_model_len == 100
    fitted = settled("--max-model-len -1")
    assert (fitted.max_model_len, fitted.auto_fit) == (4096, True)
    assert chosen(LLAMA, NOWHERE).max_model_len == LOAD.ctx_tokens


def test_the_rest_is_taken_as_said() -> None:
    found = settled(
        "--enable-lora --max-loras 2 --max-lora-rank 64 --fully-sharded-loras --cpu-offload-gb 1.5 --kv-offloading-size 10 "
        '--limit-mm-per-prompt \'{"video": 0, "image": 2}\' --attention-config.backend FLASHINFER --disable-sliding-window '
        "--kv-cache-memory-bytes 0 --quantization fp8 --enable-sleep-mode -dcp 2 -pcp 1 -ep",
        front="VLLM_PP_LAYER_PARTITION=16,16 VLLM_ALLOW_LONG_MAX_MODEL_LEN=1",
    )
    assert found.lora == Lora(2, 64, fully_sharded=True)
    assert (found.cpu_offload_bytes, found.kv_offloading_bytes, found.swap_space_bytes) == (3 * GIB // 2, 10 * GIB, 0)
    assert found.mm_limits == (("image", 2), ("video", 0))
    assert (found.attention_backend, found.sliding_window, found.kv_cache_memory_bytes) == ("FLASHINFER", False, None)
    assert (found.quantization, found.sleep_mode, found.dcp, found.expert_parallel) == ("fp8", True, 2, True)
    assert (found.layer_partition, found.allow_long_max_model_len) == ((16, 16), True)
    assert settled("", "0.7.3").swap_space_bytes == 4 * GIB
    assert settled("", "0.9.2", front="VLLM_USE_V1=0").v1 is False
