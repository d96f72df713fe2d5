"""How SGLang is started, and the command that gives settings back."""

import re
from collections.abc import Iterator, Sequence

from kvplan.core import shell
from kvplan.core.flag_words import knows
from kvplan.core.server_command import Speech, unlike, words
from kvplan.core.server_line import Program
from kvplan.engines.sglang.flags import UNMODELED, grammar
from kvplan.engines.sglang.settings import Settings

_MODULES = ("sglang.launch_server", "sglang.srt.server", "dynamo.sglang")
_TAG = re.compile(r".*:v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?![\d.]).*")
_LONGER = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"


def begins(words: Sequence[str]) -> int:
    """The server's module, or ``sglang serve``."""
    if words[0] in _MODULES:
        return 1
    return 2 if shell.base(words[0]) == "sglang" and list(words[1:2]) == ["serve"] else 0


def version(image: str) -> str | None:
    """The version in the tag of an image of the project's own: lmsysorg/sglang:v0.5.9-cu129."""
    found = _TAG.fullmatch(image.partition("@")[0])
    return found[1] if found and "sglang" in image.rpartition(":")[0] and "nvcr.io" not in image else None


def _image(name: str) -> bool:
    return "sglang" in name


SPEECH = Speech(
    title="SGLang",
    program=Program("sglang", begins, _image, version, "python -m sglang.launch_server --model-path MODEL --tp 4"),
    grammar=grammar,
    unmodeled=UNMODELED,
    variables={_LONGER: "longer-context"},
    overrides="json-model-override-args",
)


def spelled(settings: Settings) -> tuple[str, ...]:
    """The command that gives these settings on any hardware: what depends on the card is said in full."""
    variables = (f"{_LONGER}=1",) if settings.overwrites_length else ()
    return (*variables, "python", "-m", "sglang.launch_server", "--model-path", settings.model, *words(_flags(settings)))


def _flags(settings: Settings) -> Iterator[tuple[str, object]]:
    yield "tp-size", settings.tp
    yield "mem-fraction-static", settings.mem_fraction_static
    yield "chunked-prefill-size", max(-1, settings.chunked_prefill_size * settings.attention_dp)
    yield "dtype", settings.dtype
    yield "kv-cache-dtype", _KV_FLAG[settings.kv_cache_dtype] if settings.kv_cache_dtype != settings.dtype else "auto"
    yield from unlike(
        ("context-length", settings.context_length, None),
        ("pp-size", settings.pp, 1),
        ("dp-size", max(settings.dp, settings.attention_dp), 1),
        ("quantization", settings.quantization, None),
        ("max-running-requests", settings.max_running_requests, None),
        ("max-total-tokens", settings.max_total_tokens, None),
        ("page-size", settings.page_size, 1),
        ("swa-full-tokens-ratio", settings.swa_per_mille / 1000, 0.8),
        ("mamba-full-memory-ratio", settings.mamba_per_mille / 1000, 0.9),
        ("max-mamba-cache-size", settings.mamba_slots, None),
        ("mamba-ssm-dtype", settings.mamba_ssm_dtype, None),
        ("speculative-algorithm", settings.speculative, None),
        ("json-model-override-args", settings.overrides, None),
    )
    yield "enable-dp-attention", settings.attention_dp > 1
    yield "disable-cuda-graph", not settings.graph_batches
    yield "disable-radix-cache", not settings.radix_cache
    yield "disable-hybrid-swa-memory", not settings.windows
    newer = knows("cuda-graph-max-bs-decode", grammar(), settings.version)
    yield ("cuda-graph-max-bs-decode" if newer else "cuda-graph-max-bs"), settings.graph_batches or None


_KV_FLAG = {"float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2", "float4_e2m1": "fp4_e2m1", "bfloat16": "bfloat16"}
