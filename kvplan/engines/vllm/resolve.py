"""From flags to settings: vLLM's defaults for this model, this hardware and this version."""

from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.core.remembered import Remembered
from kvplan.core.workload import Workload
from kvplan.engines.vllm import by_default
from kvplan.engines.vllm.backends import Traits, traits
from kvplan.engines.vllm.batch import Batch, batch, graph_defaults, graph_sizes
from kvplan.engines.vllm.command import ENTRY
from kvplan.engines.vllm.drafting import speculative
from kvplan.engines.vllm.keeping import caching
from kvplan.engines.vllm.length import length
from kvplan.engines.vllm.parallel import split
from kvplan.engines.vllm.rules import Rules, engine_rules
from kvplan.engines.vllm.said import Said, text
from kvplan.engines.vllm.settings import Lora, Settings
from kvplan.engines.vllm.types import model_type

_LONG = 32768  # from here on V0 chunks prefills by default


def resolve(parsed: Parsed, load: Workload, model: ModelSpec, node: Node, version: str) -> Settings:
    """Every setting that bears on memory. Without a command the context is what the workload asks for.

    Raises RequestError for values that no vLLM takes; what one would refuse only for this model is the deployment's to say.
    """
    at = _known.get(model, (parsed, node, version), lambda: _base(parsed, model, node, version))
    asked = at.said.count("max-model-len", None if ENTRY in at.said else load.ctx_tokens)
    max_len = at.default_len if asked is None or asked < 0 else asked
    return _scheduling(at, max_len, model, node)._replace(max_model_len=max_len, auto_fit=asked == -1)


class _Base(NamedTuple):
    """What was said, and all settings that the length of sequences does not change; ``scheduled`` are those found by the limits that
    it does change, so far."""

    said: Said
    rules: Rules
    default_len: int
    settings: Settings
    traits: Traits
    scheduled: dict[tuple[bool, Batch], Settings]


_known: Remembered[_Base] = Remembered(64)


def _base(parsed: Parsed, model: ModelSpec, node: Node, version: str) -> _Base:
    said = Said(parsed.flags)
    rules = engine_rules(version, v1=said.switch("VLLM_USE_V1"))
    settings = Settings(
        version=version,
        model=parsed.model or model.id,
        max_model_len=0,
        allow_long_max_model_len=said.on("VLLM_ALLOW_LONG_MAX_MODEL_LEN"),
        max_num_seqs=0,
        max_num_batched_tokens=0,
        dtype=model_type(said.word("dtype"), model, node, rules),
        usage="offline" if said.word("usage") == "offline" else "serve",
        speculative=speculative(said, model),
        quantization=said.word("quantization") or model.quantization,
        hf_overrides=parsed.overrides,
    )
    settings = _parallel(settings, said, model, node)
    settings = _runner(settings, said, rules, model)
    settings = caching(settings, said, rules, model)
    settings = _extras(settings, said, rules)._replace(v1=rules.v1)
    return _Base(said, rules, length(model, rules).default, settings, traits(model), {})


def _parallel(settings: Settings, said: Said, model: ModelSpec, node: Node) -> Settings:
    """Who holds what. Raises RequestError for more stages than there are layers."""
    parts = split(said, model, max(1, len(node.gpus)))
    if parts.pp > model.n_layers:
        raise RequestError("bad_setting", f"pipeline-parallel-size={parts.pp}: the model has {model.n_layers} layers to share out")
    drafter = settings.speculative
    return settings._replace(
        tp=parts.tp,
        pp=parts.pp,
        dp=parts.dp,
        dcp=said.number("decode-context-parallel-size", 1),
        pcp=parts.pcp,
        expert_parallel=parts.experts,
        layer_partition=said.sizes("VLLM_PP_LAYER_PARTITION"),
        speculative=drafter and drafter._replace(tp=drafter.tp or parts.tp),
    )


def _scheduling(at: _Base, max_model_len: int, model: ModelSpec, node: Node) -> Settings:
    """Tokens and sequences of a step, prefills in chunks, captured graphs: the settings with those."""
    chunked = _chunked(at, max_model_len)
    limits = batch(at.said, at.rules, node, max_model_len, chunked=chunked)
    found = at.scheduled.get((chunked, limits))
    if found is None:
        if len(at.scheduled) >= _MOST:
            at.scheduled.clear()
        found = at.scheduled[chunked, limits] = _scheduled(at, limits, model, node)._replace(chunked_prefill=chunked)
    return found


_MOST = 256


def _scheduled(at: _Base, limits: Batch, model: ModelSpec, node: Node) -> Settings:
    n_drafted = at.settings.speculative.n_tokens if at.settings.speculative else 0
    sizes = graph_sizes(at.said, at.rules, limits, defaults=graph_defaults(model, at.rules, node), width=1 + n_drafted)
    return at.settings._replace(
        max_num_seqs=limits.max_num_seqs,
        max_num_batched_tokens=limits.max_num_batched_tokens,
        enforce_eager=at.said.on("enforce-eager"),
        graph_sizes=sizes,
        estimates_graphs=_estimates(at.said, at.rules) and bool(sizes),
    )


def _chunked(at: _Base, max_model_len: int) -> bool:
    """Source: vllm 0.33.0 config/model.py, is_chunked_prefill_supported; V0: 0.8.5 engine/arg_utils.py, _set_default_args_v0."""
    asked, found = at.said.switch("enable-chunked-prefill"), at.traits
    if at.rules.v1:
        return not found.cross if asked is None else asked
    plain = not (found.latent or found.windowed or found.cross or at.settings.speculative or at.said.on("enable-lora"))
    return (plain and max_model_len > _LONG) if asked is None else asked


def _estimates(said: Said, rules: Rules) -> bool:
    if rules.estimates_graphs == "never":
        return False
    asked = said.switch("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS")
    return rules.estimates_graphs == "on" if asked is None else asked


def _runner(settings: Settings, said: Said, rules: Rules, model: ModelSpec) -> Settings:
    """Which model runner serves, and whether steps overlap.

    Source: vllm 0.28.0 config/vllm.py, _is_default_v2_model_runner_model, and 0.33.0, the same file.
    """
    dense = not traits(model).keeps_state and not any(ffn.kind == "moe" for run in model.runs for ffn in run.layer.ffns)
    asked = said.switch("VLLM_USE_V2_MODEL_RUNNER") if rules.has_v2 else None
    default = by_default.v2_runner(settings, rules) and (dense or rules.runner != "dense")
    settings = settings._replace(v2_runner=default if asked is None else asked)
    wanted = said.switch("async-scheduling")
    overlaps = by_default.async_scheduling(settings, rules) and said.word("distributed-executor-backend") != "ray"
    return settings._replace(async_scheduling=overlaps if wanted is None else wanted)


def _extras(settings: Settings, said: Said, rules: Rules) -> Settings:
    """Adapters, offloading, other modalities, and what else takes memory."""
    backend = text(said.json("attention-config"), "backend", "attention-config")
    lora = Lora(said.number("max-loras", 1), said.number("max-lora-rank", 16), said.on("fully-sharded-loras"))
    limits = said.json("limit-mm-per-prompt")
    return settings._replace(
        attention_backend=said.word("attention-backend") or said.word("VLLM_ATTENTION_BACKEND") or backend,
        lora=lora if said.on("enable-lora") else None,
        cpu_offload_bytes=said.gib("cpu-offload-gb"),
        swap_space_bytes=0 if rules.v1 else said.gib("swap-space", rules.swap_space_gib),
        kv_offloading_bytes=said.gib("kv-offloading-size"),
        mm_limits=tuple(sorted((name, count) for name, count in limits.items() if isinstance(count, int))),
        skip_mm_profiling=said.on("skip-mm-profiling"),
        language_model_only=said.on("language-model-only"),
        sleep_mode=said.on("enable-sleep-mode"),
    )
