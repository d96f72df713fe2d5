"""A command line of SGLang as flags, and flags as a command line."""

import re
from collections.abc import Iterator, Mapping, Sequence

from kvplan.core import shell
from kvplan.core.engine import Flag, Parsed
from kvplan.core.flag_words import Read, knows, read
from kvplan.core.ledger import Finding
from kvplan.core.server_line import Program, started
from kvplan.engines.sglang.flags import UNMODELED, VARIABLES, grammar
from kvplan.engines.sglang.settings import Settings
from kvplan.engines.sglang.versions import VERSIONS

ENTRY = "entry"
"""The flag that says that there is a command; there is none where kvplan's own options are all that was said."""
_MODULES = ("sglang.launch_server", "sglang.srt.server", "dynamo.sglang")
_TAG = re.compile(r".*:v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?![\d.]).*")


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


PROGRAM = Program("sglang", begins, _image, version, "python -m sglang.launch_server --model-path MODEL --tp 4")


def parse(argv: Sequence[str], env: Mapping[str, str], said_version: str) -> Parsed:
    """Read a command. Raises RequestError for a line that starts no server, and for values that its parser would refuse."""
    line = started(argv, PROGRAM)
    chosen = said_version or line.version or VERSIONS[-1]
    found = read(line.words, grammar(), chosen)
    variables = {**env, **line.env}
    entry = () if line.bare else (Flag(ENTRY, "serve"),)
    here = tuple(Flag(name, "true" if variables[name].lower() in ("1", "true") else "false") for name in VARIABLES if name in variables)
    return Parsed(
        engine="sglang",
        version=chosen,
        model=found.model,
        flags=(*entry, *here, *found.flags),
        ignored=tuple(flag for flag in found.ignored if flag.name not in UNMODELED),
        unknown=tuple(flag for flag, _ in found.strange),
        findings=(*_strange(found, chosen), *_unmodeled(found)),
    )


def _strange(found: Read, chosen: str) -> Iterator[Finding]:
    for flag, hint in found.strange:
        yield Finding("KV210", "warning", f"SGLang {chosen} doesn't know '{flag.name}': it would not start", hint)


def _unmodeled(found: Read) -> Iterator[Finding]:
    for name in dict.fromkeys(flag.name for flag in found.ignored if flag.name in UNMODELED):
        yield Finding("KV211", "warning", f"--{name} bears on memory and is not followed: {UNMODELED[name]}")


def spelled(settings: Settings) -> tuple[str, ...]:
    """The command that gives these settings on any hardware: what depends on the card is said in full."""
    words = ["python", "-m", "sglang.launch_server", "--model-path", settings.model]
    for name, value in _flags(settings):
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return (*(("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1",) if settings.overwrites_length else ()), *words)


def _flags(settings: Settings) -> Iterator[tuple[str, object]]:
    yield "tp-size", settings.tp
    yield "mem-fraction-static", settings.mem_fraction_static
    yield "chunked-prefill-size", max(-1, settings.chunked_prefill_size * settings.attention_dp)
    yield "dtype", settings.dtype
    yield "kv-cache-dtype", _KV_FLAG[settings.kv_cache_dtype] if settings.kv_cache_dtype != settings.dtype else "auto"
    for name, value, usual in (
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
    ):
        if value != usual:
            yield name, value
    for name, on in (
        ("enable-dp-attention", settings.attention_dp > 1),
        ("disable-cuda-graph", not settings.graph_batches),
        ("disable-radix-cache", not settings.radix_cache),
        ("disable-hybrid-swa-memory", not settings.windows),
    ):
        if on:
            yield name, True
    if settings.graph_batches:
        newer = knows("cuda-graph-max-bs-decode", grammar(), settings.version)
        yield ("cuda-graph-max-bs-decode" if newer else "cuda-graph-max-bs"), settings.graph_batches


_KV_FLAG = {"float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2", "float4_e2m1": "fp4_e2m1", "bfloat16": "bfloat16"}
