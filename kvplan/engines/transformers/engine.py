"""The Transformers engine behind the seam."""

from collections.abc import Mapping, Sequence

from kvplan.core.device import Node
from kvplan.core.engine import Flag, Parsed
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.transformers.deployment import Deployment
from kvplan.engines.transformers.rules import VERSIONS
from kvplan.engines.transformers.settings import Settings

_DEFAULTS = {"dtype": "auto", "kv_dtype": "auto", "attn_implementation": "sdpa", "cache_implementation": "dynamic", "forward": "generate"}
_CHOICES = {
    "attn_implementation": ("sdpa", "eager", "flash_attention_2"),
    "cache_implementation": ("dynamic", "static", "quantized"),
    "forward": ("generate", "plain"),
}


class TransformersEngine:
    """Reads ``key=value`` words, the keyword arguments of from_pretrained() and generate()."""

    name = "transformers"
    versions = VERSIONS

    def parse(self, argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
        """``["transformers", MODEL, "key=value", …]``. Raises RequestError for a word that is neither."""
        model = argv[1] if len(argv) > 1 and "=" not in argv[1] else None
        flags = []
        for word in argv[2 if model else 1 :]:
            key, equals, value = word.partition("=")
            if not equals or key not in _DEFAULTS:
                raise RequestError("unknown_flag", f"transformers: unknown setting '{word}'", hint=did_you_mean(key, _DEFAULTS))
            flags.append(Flag(key, value))
        return Parsed(self.name, version, model, tuple(flags))

    def resolve(self, parsed: Parsed, load: Workload, model: ModelSpec, node: Node, version: str) -> Settings:
        """Defaults of from_pretrained() and generate(); ``auto`` is the checkpoint's element type."""
        chosen = _DEFAULTS | {flag.name: flag.value for flag in parsed.flags}
        for key, known in _CHOICES.items():
            if chosen[key] not in known:
                raise RequestError(
                    "bad_setting",
                    f"{key}: expected one of {', '.join(known)}, found '{chosen[key]}'",
                    hint=did_you_mean(chosen[key], known),
                )
        weights = model.stored_dtype if chosen["dtype"] == "auto" else chosen["dtype"]
        return Settings(
            version=version,
            model=parsed.model or model.id,
            dtype=weights,
            kv_dtype=weights if chosen["kv_dtype"] == "auto" else chosen["kv_dtype"],
            attn=chosen["attn_implementation"],
            cache=chosen["cache_implementation"],
            forward=chosen["forward"],
        )

    def deploy(self, model: ModelSpec, settings: Settings, node: Node) -> Deployment:
        """The ledger behind these settings."""
        return Deployment(model, settings, node)

    def command(self, settings: Settings) -> tuple[str, ...]:
        """The settings as the keyword arguments to pass."""
        return (
            self.name,
            settings.model,
            f"dtype={settings.dtype}",
            f"kv_dtype={settings.kv_dtype}",
            f"attn_implementation={settings.attn}",
            f"cache_implementation={settings.cache}",
            f"forward={settings.forward}",
        )

    def shown(self, settings: Settings) -> Mapping[str, int | float | str | bool | None]:
        """Every setting but the version, which the answer shows beside them."""
        return {key: value for key, value in settings._asdict().items() if key != "version"}


ENGINE = TransformersEngine()
