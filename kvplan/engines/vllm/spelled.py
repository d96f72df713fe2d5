"""From settings back to the command that gives them."""

from collections.abc import Iterator

from kvplan.core.units import GIB
from kvplan.engines.vllm import by_default
from kvplan.engines.vllm.batch import graph_grid
from kvplan.engines.vllm.rules import Rules, engine_rules
from kvplan.engines.vllm.settings import Settings
from kvplan.engines.vllm.spelling import knows, meaning
from kvplan.engines.vllm.values import dumped
from kvplan.engines.vllm.words import WHAT_IF

Words = Iterator[tuple[str, object]]


def command(settings: Settings) -> tuple[str, ...]:
    """The inverse of parse and resolve, on any hardware: what depends on the hardware or the model is said in full.

    ``vllm serve …`` for a server, ``LLM(…)`` for offline use, variables in front.
    """
    rules = engine_rules(settings.version, v1=settings.v1)
    flags = {name: value for name, value in _flags(settings, rules) if _takes(name, settings.version)}
    variables = tuple(f"{name}={value}" for name, value in _variables(settings, rules))
    if settings.usage == "offline":
        named = ", ".join(f"{name.replace('-', '_')}={value!r}" for name, value in {"model": settings.model, **flags}.items())
        return (*variables, f"LLM({named})")
    return (*variables, "vllm", "serve", settings.model, *(word for name, value in flags.items() for word in _words(name, value)))


def _takes(name: str, version: str) -> bool:
    """Whether that version has the flag; what it can't say it does by itself, but for a pool that was only asked about."""
    meant = meaning(f"--{name}", version)
    return name == WHAT_IF or (meant is not None and knows(meant.flag, version))


def _words(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, bool):
        return (f"--{name}",) if value else (f"--no-{name}",)
    if isinstance(value, list):
        return (f"--{name}", *(str(item) for item in value))
    return f"--{name}", dumped(value) if isinstance(value, dict) else str(value)


def _variables(settings: Settings, rules: Rules) -> Iterator[tuple[str, str]]:
    if settings.v1 != engine_rules(settings.version).v1:
        yield "VLLM_USE_V1", str(int(settings.v1))
    if settings.allow_long_max_model_len:
        yield "VLLM_ALLOW_LONG_MAX_MODEL_LEN", "1"
    if settings.layer_partition:
        yield "VLLM_PP_LAYER_PARTITION", ",".join(map(str, settings.layer_partition))
    if rules.estimates_graphs != "never" and settings.graph_sizes and settings.estimates_graphs != (rules.estimates_graphs == "on"):
        yield "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", str(int(settings.estimates_graphs))
    if rules.has_v2 and (rules.runner == "dense" or settings.v2_runner != by_default.v2_runner(settings, rules)):
        yield "VLLM_USE_V2_MODEL_RUNNER", str(int(settings.v2_runner))


def _flags(settings: Settings, rules: Rules) -> Words:
    """Each flag with its value, in the order of the settings; nothing where vLLM would do the same by itself."""
    yield "max-model-len", -1 if settings.auto_fit else settings.max_model_len
    yield "max-num-seqs", settings.max_num_seqs
    yield "max-num-batched-tokens", settings.max_num_batched_tokens
    yield "dtype", settings.dtype
    yield from _unlike(settings, ("quantization", None), ("kv_cache_dtype", "auto"), ("block_size", None))
    yield from _unlike(settings, ("gpu_memory_utilization", rules.gpu_memory_utilization), ("kv_cache_memory_bytes", None))
    yield from _unlike(settings, ("num_gpu_blocks_override", None))
    for name, value in (
        ("tensor-parallel-size", settings.tp),
        ("pipeline-parallel-size", settings.pp),
        ("data-parallel-size", settings.dp),
        ("decode-context-parallel-size", settings.dcp),
        ("prefill-context-parallel-size", settings.pcp),
    ):
        if value != 1:
            yield name, value
    if settings.expert_parallel:
        yield "enable-expert-parallel", True
    yield from _switches(settings, rules)
    yield from _states(settings)
    yield from _extras(settings, rules)


def _unlike(settings: Settings, *defaults: tuple[str, object]) -> Words:
    """Settings that differ from their defaults and whose flags bear their names."""
    for field, default in defaults:
        value = getattr(settings, field)
        if value != default:
            yield field.replace("_", "-"), value


def _switches(settings: Settings, rules: Rules) -> Words:
    yield from _graphs(settings, rules)
    yield "enable-prefix-caching", settings.prefix_caching
    yield "enable-chunked-prefill", settings.chunked_prefill
    if settings.async_scheduling != by_default.async_scheduling(settings, rules):
        yield "async-scheduling", settings.async_scheduling
    if not settings.hybrid_manager:
        yield "disable-hybrid-kv-cache-manager", True
    if not settings.sliding_window:
        yield "disable-sliding-window", True
    for flag, on in (("skip-mm-profiling", settings.skip_mm_profiling), ("language-model-only", settings.language_model_only)):
        if on:
            yield flag, True
    if settings.sleep_mode:
        yield "enable-sleep-mode", True


def _graphs(settings: Settings, rules: Rules) -> Words:
    """The captured sizes: their largest where it makes the rest, else all."""
    sizes = list(settings.graph_sizes)
    if not sizes:
        yield ("enforce-eager", True) if settings.enforce_eager else ("compilation-config", {"cudagraph_mode": "NONE"})
    elif sizes == sorted(graph_grid(sizes[-1], rules.graph_step)):
        yield _known(settings, "max-cudagraph-capture-size", sizes[-1])
    else:
        yield _known(settings, "cudagraph-capture-sizes", sizes)


def _known(settings: Settings, name: str, value: object) -> tuple[str, object]:
    """As a flag of its own, or where there is none yet in the compilation's config."""
    return (name, value) if _takes(name, settings.version) else ("compilation-config", {name.replace("-", "_"): value})


def _states(settings: Settings) -> Words:
    if settings.mamba_cache_mode != "none":
        yield "mamba-cache-mode", settings.mamba_cache_mode
    yield from _unlike(settings, ("mamba_block_size", None), ("mamba_cache_dtype", "auto"), ("mamba_ssm_cache_dtype", "auto"))


def _extras(settings: Settings, rules: Rules) -> Words:
    yield from _unlike(settings, ("attention_backend", None), ("hf_overrides", None))
    drafter = settings.speculative
    if drafter is not None:
        said = {"method": drafter.method, "num_speculative_tokens": drafter.n_tokens, "model": drafter.model}
        yield "speculative-config", {key: value for key, value in said.items() if value is not None} | _draft_tp(settings)
    if settings.lora is not None:
        yield "enable-lora", True
        yield "max-loras", settings.lora.max_loras
        yield "max-lora-rank", settings.lora.max_rank
        if settings.lora.fully_sharded:
            yield "fully-sharded-loras", True
    for name, n_bytes, default in (
        ("cpu-offload-gb", settings.cpu_offload_bytes, 0.0),
        ("swap-space", settings.swap_space_bytes, rules.swap_space_gib),
        ("kv-offloading-size", settings.kv_offloading_bytes, 0.0),
    ):
        if n_bytes != int(default * GIB):
            yield name, n_bytes / GIB
    if settings.mm_limits:
        yield "limit-mm-per-prompt", dict(settings.mm_limits)


def _draft_tp(settings: Settings) -> dict[str, int]:
    drafter = settings.speculative
    return {"draft_tensor_parallel_size": drafter.tp} if drafter and drafter.tp != settings.tp else {}
