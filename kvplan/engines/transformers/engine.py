"""The Transformers engine behind the seam."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kvplan.core.device import Node
from kvplan.core.dtypes import PLAIN, dtype
from kvplan.core.engine import Deployment as Ledger
from kvplan.core.engine import Flag, Parsed
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.model import ModelSpec
from kvplan.core.pace import UNPACKED, Pace
from kvplan.core.units import parse_count
from kvplan.core.workload import Workload
from kvplan.engines.transformers import several
from kvplan.engines.transformers.deployment import Deployment
from kvplan.engines.transformers.rules import VERSIONS, rules_for
from kvplan.engines.transformers.settings import Settings

AUTO = "auto"
_DEFAULTS = {
    "dtype": AUTO,
    "kv_dtype": AUTO,
    "attn_implementation": AUTO,
    "cache_implementation": AUTO,
    "forward": "generate",
    "padding": "none",
    "expandable_segments": "False",
    "use_cache": "True",
    "prefill_chunk_size": "0",
    "assistant_model": "",
    **several.DEFAULTS,
}
_CHOICES = {
    "attn_implementation": (AUTO, "sdpa", "eager", "flash_attention_2"),
    "cache_implementation": (AUTO, "dynamic", "static", "hybrid", "quantized", "none"),
    "forward": ("generate", "plain"),
    "padding": ("none", "left"),
    "expandable_segments": ("False", "True"),
    "use_cache": ("True", "False"),
}
QUANTIZED = ("float8_e4m3fn", "int8", "int4", "int3", "int2")
DEFAULT_QUANTIZED = "int4"


class TransformersEngine:
    """Reads ``key=value`` words, the keyword arguments of from_pretrained() and generate()."""

    name = "transformers"
    versions = VERSIONS
    formats = ("safetensors",)  # a GGUF is unpacked while it is loaded; source: transformers 5.24 modeling_gguf_pytorch_utils.py
    follows: Sequence[str] = ()
    options = MappingProxyType(
        {
            **{"dtype": "dtype", "kv_dtype": "kv_dtype", "attn": "attn_implementation", "cache": "cache_implementation"},
            **{"forward": "forward", "device_map": "device_map", "max_memory": "max_memory", "tp": "tp_size"},
        }
    )

    def parse(self, argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
        """``["transformers", MODEL, "key=value", …]``. Raises RequestError for a word that is neither."""
        model = argv[1] if len(argv) > 1 and "=" not in argv[1] else None
        flags = []
        for word in argv[2 if model else 1 :]:
            key, equals, value = word.partition("=")
            if not equals or key not in _DEFAULTS:
                raise RequestError("unknown_flag", f"transformers: unknown setting '{word}'", hint=did_you_mean(key, _DEFAULTS))
            flags.append(Flag(key, value))
        draft = next((flag.value for flag in reversed(flags) if flag.name == "assistant_model" and flag.value), None)
        return Parsed(self.name, version, model, tuple(flags), draft=draft)

    def resolve(self, parsed: Parsed, load: Workload, model: ModelSpec, node: Node, version: str) -> Settings:
        """Defaults of from_pretrained() and generate(); ``auto`` is the checkpoint's element type.

        Raises RequestError for values that Transformers doesn't have, or a version that is too old to be modeled.
        """
        rules, _ = rules_for(version)
        chosen = _DEFAULTS | rules.usual(model.model_type) | {flag.name: flag.value for flag in parsed.flags}
        for key, known in _CHOICES.items():
            if chosen[key] not in known:
                hint = did_you_mean(chosen[key], known)
                raise RequestError("bad_setting", f"{key}: expected one of {', '.join(known)}, found '{chosen[key]}'", hint=hint)
        attn, asked, stored = chosen["attn_implementation"], chosen["cache_implementation"], model.stored_dtype
        weights = stored if chosen["dtype"] == AUTO else _weights(chosen["dtype"], stored)
        compute = next((name for name in (weights, stored) if name in PLAIN), "bfloat16")
        cache, kv = _cache("none" if chosen["use_cache"] == "False" else asked.replace("hybrid", "static"), chosen["kv_dtype"], compute)
        if cache not in (*rules.caches, "none") or (asked == "hybrid" and model.model_type not in rules.windows_static):
            said, hint = f"cache_implementation={asked}: transformers {version} has none", f"it has {', '.join(rules.caches)}"
            raise RequestError("bad_setting", said, hint=hint)
        spread = several.several(chosen, model.model_type, node)
        return Settings(
            version=version,
            model=parsed.model or model.id,
            dtype=weights,
            kv_dtype=kv,
            attn=("eager" if model.form.eager_only else "sdpa") if attn == AUTO else attn,
            cache=cache,
            hybrid=cache == "static" and asked == "hybrid",
            forward=chosen["forward"],
            compute_dtype=compute,
            padding=chosen["padding"],
            segments="expandable" if chosen["expandable_segments"] == "True" else "fixed",
            chunk_tokens=_chunk(chosen["prefill_chunk_size"], chosen["forward"]),
            assistant=chosen["assistant_model"],
            device_map=spread.device_map,
            max_memory=spread.max_memory,
            tp_size=spread.tp_size,
            devices=spread.devices,
        )

    def deploy(self, model: ModelSpec, settings: Settings, node: Node) -> Ledger:
        """The ledger behind these settings."""
        if settings.tp_size > 1:
            from kvplan.engines.transformers.ranks import Ranks

            return Ranks(model, settings, node)
        if settings.device_map and node.gpus:
            from kvplan.engines.transformers.spread import Spread

            return Spread(model, settings, node)
        return Deployment(model, settings, node)

    def command(self, settings: Settings) -> tuple[str, ...]:
        """The settings as the keyword arguments to pass."""
        return (
            self.name,
            settings.model,
            *((f"assistant_model={settings.assistant}",) if settings.assistant else ()),
            f"dtype={settings.dtype}",
            f"kv_dtype={settings.kv_dtype}",
            f"attn_implementation={settings.attn}",
            f"cache_implementation={'hybrid' if settings.hybrid else AUTO if settings.cache == 'none' else settings.cache}",
            f"use_cache={settings.cache != 'none'}",
            f"prefill_chunk_size={settings.chunk_tokens}",
            f"forward={settings.forward}",
            f"padding={settings.padding}",
            f"expandable_segments={settings.segments == 'expandable'}",
            *several.words(several.Several(settings.device_map, settings.max_memory, settings.tp_size, settings.devices)),
        )

    def limits(self, settings: Settings) -> tuple[int | None, int | None]:
        """No limit but that of assisted generation, which takes one sequence. Source: transformers 5.24 generation/utils.py."""
        return None, 1 if settings.assistant else None

    def pace(self, settings: Settings, model: ModelSpec) -> Pace | None:
        """A batch at a time, its prompts in one pass; None beside a model that drafts."""
        if settings.assistant:
            return None
        return Pace(
            "eager",
            settings.dtype,
            eager_scores=settings.attn == "eager",
            together=True,
            tp=settings.tp_size,
            pp=settings.devices if settings.device_map else 1,
            unpacks=model.quantization in UNPACKED,
        )

    def shown(self, settings: Settings) -> Mapping[str, int | float | str | bool | None]:
        """Every setting but the version, which the answer shows beside them."""
        return {key: value for key, value in settings._asdict().items() if key != "version"}


def _weights(name: str, stored: str) -> str:
    """The type that weights are loaded in. Raises RequestError for one that from_pretrained doesn't take, unless they lie in it."""
    found = dtype(name, where="dtype").name
    if found not in (*PLAIN, stored):
        hint = f"kvplan's own --dtype {name}, before the --, counts a checkpoint that is quantized so"
        raise RequestError("bad_setting", f"dtype={name}: from_pretrained loads in {', '.join(PLAIN)}", hint=hint)
    return found


def _chunk(text: str, forward: str) -> int:
    """prefill_chunk_size. Raises RequestError for anything but a number, and for a plain forward, which takes a prompt whole."""
    n_tokens = 0 if text == "0" else parse_count(text, option="prefill_chunk_size")
    if n_tokens and forward == "plain":
        raise RequestError("bad_setting", f"prefill_chunk_size={text}: generate() reads prompts in chunks, a plain forward does not")
    return n_tokens


def _cache(cache: str, kv: str, compute: str) -> tuple[str, str]:
    """The cache class and its element type: one of 8 bits or fewer means a quantized cache.

    Raises RequestError where the two contradict each other. Source: transformers 5.24 QuantizedCache, whose default is 4 bits.
    """
    if kv == AUTO:
        return ("dynamic", compute) if cache == AUTO else (cache, DEFAULT_QUANTIZED if cache == "quantized" else compute)
    name = dtype(kv, where="kv_dtype").name
    if name in QUANTIZED and cache in (AUTO, "quantized"):
        return "quantized", name
    if name in PLAIN and cache != "quantized":
        return ("dynamic" if cache == AUTO else cache), name
    raise RequestError(
        "bad_setting",
        f"kv_dtype={kv}: a {'dynamic' if cache == AUTO else cache} cache can't hold {name}",
        hint=f"a quantized cache holds {', '.join(QUANTIZED)}; the others hold {', '.join(PLAIN)}",
    )


ENGINE = TransformersEngine()
