"""The llama.cpp engine behind the seam."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kvplan.core.device import Node
from kvplan.core.engine import Deployment, Parsed
from kvplan.core.model import ModelSpec
from kvplan.core.pace import Pace
from kvplan.core.units import ceil_to
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp import command, presets, resolve, spelled
from kvplan.engines.llamacpp.rules import VERSIONS, rules_for
from kvplan.engines.llamacpp.settings import Settings


class LlamaCppEngine:
    """Reads the command lines of llama.cpp's programs, lays buffers out as it does, and speaks its words."""

    name: str = command.NAME
    versions: Sequence[str] = VERSIONS
    formats = ("gguf",)
    follows: Sequence[str] = ("ctx_tokens", "batch")
    options: Mapping[str, str] = MappingProxyType({"kv_dtype": resolve.KV_TYPES})

    def parse(self, argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
        """A whole command line. Raises RequestError for one that starts none of llama.cpp's programs."""
        return command.parse(argv, env, version)

    def resolve(self, parsed: Parsed, load: Workload, model: ModelSpec, node: Node, version: str) -> Settings:
        """Every default filled in. Raises RequestError for a build that is not modeled."""
        return resolve.resolve(parsed, load, model, node, version)

    def deploy(self, model: ModelSpec, settings: Settings, node: Node) -> Deployment:
        """The buffers behind these settings."""
        from kvplan.engines.llamacpp.deployment import Deployment as Deployed

        return Deployed(model, settings, node)

    def command(self, settings: Settings) -> tuple[str, ...]:
        """The command that gives these settings."""
        return spelled.command(settings)

    def text_file(self, argv: Sequence[str]) -> str | None:
        """What ``--models-preset`` names."""
        return presets.preset_file(argv)

    def with_text(self, argv: Sequence[str], text: str) -> tuple[str, ...]:
        """The preset's settings in front, so that the line's own win."""
        return presets.with_preset(argv, text)

    def limits(self, settings: Settings) -> tuple[int | None, int | None]:
        """The tokens of a slot, None where they are the model's own, and the number of slots."""
        pad = rules_for(settings.version)[0].ctx_pad
        tokens = settings.n_ctx if settings.kv_unified else ceil_to(settings.n_ctx // settings.n_parallel, pad)
        return (tokens or None), settings.n_parallel

    def pace(self, settings: Settings, model: ModelSpec) -> Pace | None:
        """Micro-batches through the layers of one card after the other, or of all at once; drafting is not modeled."""
        if settings.drafting is not None or not settings.devices or not settings.offload_kqv:
            return None
        ways = len(settings.devices) if settings.split_mode in ("row", "tensor") else 1
        stages = len(settings.devices) if settings.split_mode == "layer" else 1
        return Pace("ggml", chunk_tokens=settings.n_ubatch, eager_scores=settings.flash_attn == "off", tp=ways, pp=stages)

    def shown(self, settings: Settings) -> Mapping[str, int | float | str | bool | None]:
        """Every plain setting but the version, which the answer shows beside them."""
        return {key: value for key, value in settings._asdict().items() if key != "version" and isinstance(value, int | float | str)}


ENGINE = LlamaCppEngine()
