"""A trace of an architecture that Transformers knows and kvplan does not: measured, with no estimate."""

from kvplan.core.errors import RequestError
from kvplan.core.units import parse_count
from kvplan.core.workload import Workload
from kvplan.estimator import Options
from kvplan.estimator.demand import DEFAULT_CTX_TOKENS, checked
from kvplan.verifier.record import Job

_TYPES = ("bfloat16", "float16", "float32")
_LIMITS = ("max_position_embeddings", "n_positions")
_NOT_READ = ("engine", "kv_dtype", "device_map", "max_memory", "tp", "pp", "dp", "ep", "usage")


def job(name: str, config: dict[str, object], options: Options) -> Job:
    """What to trace, from the options and the config alone.

    Raises RequestError for a config that is quantized or says no type that torch computes in, and for options that only an
    estimate can answer.
    """
    if config.get("quantization_config") is not None:
        raise RequestError("unsupported", "verify builds random weights, and quantized ones need real ones", hint="trace the plain model")
    said = [key for key in _NOT_READ if getattr(options, key) not in (None, "auto")]
    if said:
        option = f"--{said[0].replace('_', '-')}"
        raise RequestError("unsupported", f"{option}: kvplan does not know this architecture, and traces it as it is", hint="leave it out")
    if options.cache == "quantized":
        raise RequestError("unsupported", "verify has no quantized cache", hint="leave --cache out")
    load = _workload(options, config)
    return Job(
        id=name,
        config=config,
        dtype=_dtype(options, config),
        ctx_tokens=load.ctx_tokens,
        batch=load.batch,
        prompt_tokens=load.prompt_tokens,
        device="trace",
        attn=options.attn or "sdpa",
        cache=options.cache or "dynamic",
        forward=options.forward or "generate",
    )


def _workload(options: Options, config: dict[str, object]) -> Workload:
    text = _text(config)
    limits = [value for key in _LIMITS if isinstance(value := text.get(key), int)]
    ctx = parse_count(options.ctx, option="--ctx") if options.ctx else min(DEFAULT_CTX_TOKENS, *limits, DEFAULT_CTX_TOKENS)
    prompt = None if options.prompt is None else parse_count(options.prompt, option="--prompt")
    return checked(ctx, parse_count(options.batch, option="--batch") if options.batch else 1, prompt)


def _dtype(options: Options, config: dict[str, object]) -> str:
    """The type that is asked for, else the stored one."""
    asked = None if options.dtype == "auto" else options.dtype
    named = [holder.get(key) for holder in (config, _text(config)) for key in ("dtype", "torch_dtype")]
    found = asked or next((str(value) for value in named if value), None)
    if found not in _TYPES:
        known = ", ".join(_TYPES)
        raise RequestError("unsupported", f"expected a type to trace in ({known}), found {found or 'none'}", hint="say one with --dtype")
    return found


def _text(config: dict[str, object]) -> dict[str, object]:
    text = config.get("text_config")
    return text if isinstance(text, dict) else config
