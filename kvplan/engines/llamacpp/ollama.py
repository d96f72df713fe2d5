"""Ollama: it chooses a context, a batch and how to load, and starts llama-server with them.

Source: ollama 0.34 llm/llama_server.go (startLlamaServer), server/sched.go (automaticGenerationBatch), server/routes.go (default context).
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.errors import RequestError
from kvplan.core.ledger import Finding
from kvplan.core.model import ModelSpec
from kvplan.core.remembered import Remembered, once
from kvplan.core.units import GIB, MIB
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp import command, ollama_command, ollama_spelled, resolve
from kvplan.engines.llamacpp.engine import LlamaCppEngine
from kvplan.engines.llamacpp.said import Said
from kvplan.engines.llamacpp.settings import Settings

_BUILDS = (((0, 31, 0), "b10760"), ((0, 34, 2), "b10969"))
"""The llama.cpp inside, from a release on. Source: public logs of Ollama's runner; before 0.31 it had engines of its own."""
VERSIONS = ("0.31.0", "0.34.2")
_TIERS = ((47 * GIB, 262144), (23 * GIB, 32768), (0, 4096))
_RESERVE_BYTES = 1024 * MIB  # server/sched.go, llamaServerDefaultFitTargetMiB
_SMALL_CARD_BYTES = 8 * GIB
_SURCHARGE = {2048: 2 * GIB, 1024: 768 * MIB}
_SHARE = {2048: 60, 1024: 75}  # percent of what is free that the model may take for a batch of that size


class OllamaEngine(LlamaCppEngine):
    """A front of llama.cpp with defaults of its own."""

    name = "ollama"
    versions = VERSIONS

    def parse(self, argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
        """``ollama run`` and ``ollama serve``. Raises RequestError for other commands."""
        found = ollama_command.parse(argv, env, version)
        return found._replace(findings=(*found.findings, *_newer(found.version or version or VERSIONS[-1])))

    def resolve(self, parsed: Parsed, load: Workload, model: ModelSpec, node: Node, version: str) -> Settings:
        """The settings of the llama-server that it starts. Raises RequestError for a release that is not modeled."""
        said = Said(parsed.flags)
        parallel = max(1, said.number("OLLAMA_NUM_PARALLEL", 1 if command.APP in said else load.batch))
        ctx = _num_ctx(said, model, node) if command.APP in said else load.ctx_tokens
        flash = said.word("OLLAMA_FLASH_ATTENTION")
        batch = said.number("num_batch", 0) or _num_batch(ctx * parallel, model, node, said, flash=flash != "false")

        def started() -> Settings:
            build = build_of(version)
            inherited = {flag.name: flag.value for flag in parsed.flags if flag.name.startswith("LLAMA_ARG_")}
            server = command.parse(("llama-server", "-m", "m", *_server(said, node, (ctx, parallel, batch))), inherited, build)
            flags = (*server.flags, *said.among(resolve.KV_TYPES))
            settings = resolve.resolve(server._replace(flags=flags, model=parsed.model), load, model, node, build)
            return settings._replace(app="ollama", gpu_overhead_bytes=said.number("OLLAMA_GPU_OVERHEAD", 0))

        return _known.get(model, (parsed, node, version, parallel, batch), started)._replace(n_ctx=ctx * parallel)

    def command(self, settings: Settings) -> tuple[str, ...]:
        """The variables and parameters that give these settings."""
        return ollama_spelled.command(settings)

    def limits(self, settings: Settings) -> tuple[int | None, int | None]:
        """``num_ctx`` and OLLAMA_NUM_PARALLEL."""
        return settings.n_ctx // settings.n_parallel, settings.n_parallel

    def text_file(self, argv: Sequence[str]) -> str | None:
        """The Modelfile of ``ollama create``."""
        return ollama_command.modelfile_name(argv)

    def with_text(self, argv: Sequence[str], text: str) -> tuple[str, ...]:
        """The command that runs what the Modelfile makes."""
        return ollama_command.with_modelfile(argv, text)


def build_of(version: str) -> str:
    """The build of llama.cpp in a release. Raises RequestError for an older one, and for text that is none."""
    build = next((build for since, build in reversed(_BUILDS) if since <= _numbers(version)), None)
    if build is None:
        raise RequestError(
            "unknown_version",
            f"ollama {version} is older than the releases that are modeled: it did not run llama-server",
            hint=f"use --engine ollama@{VERSIONS[0]} or newer",
        )
    return build


def _numbers(version: str) -> tuple[int, ...]:
    found = re.fullmatch(r"v?(\d{1,9}(?:\.\d{1,9}){0,3})(?:-.*)?", version, re.ASCII)
    if found is None:
        raise RequestError("unknown_version", f"ollama: '{version}' is not a version", hint=f"write it as ollama@{VERSIONS[-1]}")
    return tuple(map(int, found[1].split(".")))


def _newer(version: str) -> Iterator[Finding]:
    if _numbers(version) > _numbers(VERSIONS[-1]):
        message = f"ollama {version} is newer than the releases that are modeled: the llama.cpp of {VERSIONS[-1]} is taken to be in it"
        yield Finding("KV330", "warning", message, "compare with the buffer sizes in its log")


_known: Remembered[Settings] = Remembered(1024)
"""What contexts have in common."""


def _server(said: Said, node: Node, sizes: tuple[int, int, int]) -> Iterator[str]:
    """The words behind llama-server, in Ollama's order; ``sizes`` are a sequence's context, sequences, and tokens of a step."""
    ctx, parallel, batch = sizes
    flash, types, layers = said.word("OLLAMA_FLASH_ATTENTION"), said.word("OLLAMA_KV_CACHE_TYPE"), said.number("num_gpu", -1)
    yield from ("-c", str(ctx * parallel), "-np", str(parallel))
    yield from _drafted(said)
    for adapter in said.among("adapter"):
        yield from ("--lora", adapter.value)
    yield from _load_mode(said, node)
    yield from ("-ctk", types, "-ctv", types) if types else ()
    yield from ("-fa", "auto" if flash is None else "on" if flash == "true" else "off")
    yield from ("-b", str(batch), "-ub", str(batch))
    yield from ("-ngl", str(layers)) if layers >= 0 else ()
    yield from ("-sm", "none", "-mg", str(said.number("main_gpu", 0))) if "main_gpu" in said else ()


def _num_ctx(said: Said, model: ModelSpec, node: Node) -> int:
    """The Modelfile's, else the server's, else by the sum of the cards' memory; never more than the model was trained for."""
    free = sum(gpu.cuda_bytes - said.number("OLLAMA_GPU_OVERHEAD", 0) for gpu in node.gpus)
    by_memory = next(tokens for least, tokens in _TIERS if max(free, 0) >= least)
    asked = said.number("num_ctx", 0) or said.number("OLLAMA_CONTEXT_LENGTH", 0) or by_memory
    return min(max(4, asked), model.max_ctx_tokens or asked)


def _drafted(said: Said) -> Iterator[str]:
    n_tokens = said.number("draft_num_predict", 0)
    yield from ("--spec-type", "draft-mtp", "--spec-draft-n-max", str(n_tokens)) if n_tokens > 0 else ()


def _load_mode(said: Said, node: Node) -> Iterator[str]:
    """Read through on machines whose GPU shares the host's memory, unmapped without a GPU."""
    if any(gpu.unified and gpu.vendor.lower() in ("nvidia", "amd") for gpu in node.gpus):
        yield from ("-lm", "dio")
    elif said.word("use_mmap") == "false" or ("use_mmap" not in said and (not node.gpus or said.number("num_gpu", -1) == 0)):
        yield from ("-lm", "none")


def _num_batch(n_ctx: int, model: ModelSpec, node: Node, said: Said, *, flash: bool) -> int:
    """Larger for longer contexts, while what Ollama predicts of the model leaves room for it."""
    if not flash and node.gpus:
        small = any(gpu.cuda_bytes <= _SMALL_CARD_BYTES for gpu in node.gpus)
        return 256 if small and n_ctx > 4096 else 512
    wanted = [batch for batch, above in ((2048, 32768), (1024, 4096)) if n_ctx > above]
    used = node.used_before_bytes or (0,) * len(node.gpus)
    reserve = _RESERVE_BYTES + said.number("OLLAMA_GPU_OVERHEAD", 0)
    free = max(0, sum(gpu.cuda_bytes - taken - reserve for gpu, taken in zip(node.gpus, used, strict=True)))
    predicted = _predicted_bytes(model, n_ctx)
    fitting = (batch for batch in wanted if not free or _fits(batch, predicted, free))
    return next(fitting, 512)


def _fits(batch: int, predicted: int, free: int) -> bool:
    return predicted <= free * _SHARE[batch] // 100 and predicted + _SURCHARGE[batch] <= free * 80 // 100


def _predicted_bytes(model: ModelSpec, n_ctx: int) -> int:
    """Weights, and a cache in 16 bits with heads of hidden_size / n_heads; no compute buffer. Source: llm.PredictServerVRAM."""
    weights, each = _predicted_rates(model)
    return weights + n_ctx * each


@once
def _predicted_rates(model: ModelSpec) -> tuple[int, int]:
    """Bytes of the weights and of a token."""
    each = 0
    for layer in model.layers():
        for mixer in layer.mixers:
            if mixer.kind in ("full", "sliding", "chunked"):
                each += 2 * 2 * mixer.n_kv_heads * (model.hidden_size // mixer.n_heads)
    return (model.checkpoint.n_bytes if model.checkpoint else model.weight_bytes), each


ENGINE = OllamaEngine()
