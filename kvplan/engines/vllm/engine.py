"""The vLLM engine behind the seam."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.model import ModelSpec
from kvplan.core.pace import UNPACKED, Pace
from kvplan.core.workload import Workload
from kvplan.engines.vllm import command, spelled
from kvplan.engines.vllm.deployment import Deployment
from kvplan.engines.vllm.drafting import speculative
from kvplan.engines.vllm.loaded import quantized_on_load
from kvplan.engines.vllm.resolve import resolve
from kvplan.engines.vllm.said import Said
from kvplan.engines.vllm.settings import Settings
from kvplan.engines.vllm.versions import VERSIONS


class VllmEngine:
    """Reads ``vllm serve`` and its kin, sizes the pool as vLLM does, and speaks its words."""

    name = "vllm"
    versions = VERSIONS
    formats = ("safetensors",)
    follows: Sequence[str] = ("ctx_tokens",)
    options = MappingProxyType(
        {
            "dtype": "dtype",
            "kv_dtype": "kv-cache-dtype",
            "usage": "usage",
            "tp": "tensor-parallel-size",
            "pp": "pipeline-parallel-size",
            "dp": "data-parallel-size",
            "ep": "ep",
        }
    )

    def parse(self, argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
        """A whole command line. Raises RequestError for one that starts no server."""
        parsed = command.parse(argv, env, version)
        drafter = speculative(Said(parsed.flags), None)
        return parsed._replace(draft=drafter and drafter.model)

    def resolve(self, parsed: Parsed, load: Workload, model: ModelSpec, node: Node, version: str) -> Settings:
        """Every default filled in. Raises RequestError for values that no vLLM takes."""
        return resolve(parsed, load, model, node, version)

    def deploy(self, model: ModelSpec, settings: Settings, node: Node) -> Deployment:
        """The pool and the ledger behind these settings."""
        return Deployment(model, settings, node)

    def command(self, settings: Settings) -> tuple[str, ...]:
        """The command that gives these settings."""
        return spelled.command(settings)

    def config_file(self, argv: Sequence[str]) -> str | None:
        """What ``--config`` names."""
        return command.config_file(argv)

    def with_config(self, argv: Sequence[str], content: Mapping[str, object]) -> tuple[str, ...]:
        """The file's settings behind the model, so that the line's own win."""
        return command.with_config(argv, content)

    def limits(self, settings: Settings) -> tuple[int | None, int | None]:
        """``--max-model-len`` and ``--max-num-seqs``."""
        return settings.max_model_len, settings.max_num_seqs

    def pace(self, settings: Settings, model: ModelSpec) -> Pace | None:
        """Prompts in chunks, steps as graphs; drafting and weights that stay on the host are not modeled."""
        if settings.speculative is not None or settings.cpu_offload_bytes:
            return None
        return Pace(
            engine="launched" if settings.enforce_eager else "served",
            dtype=settings.dtype,
            chunk_tokens=settings.max_num_batched_tokens,
            tp=settings.tp,
            pp=settings.pp,
            dp=settings.dp,
            linear=quantized_on_load(model, settings),
            unpacks=settings.quantization in UNPACKED,
        )

    def shown(self, settings: Settings) -> Mapping[str, int | float | str | bool | None]:
        """Every plain setting but the version, which the answer shows beside them."""
        return {key: value for key, value in settings._asdict().items() if key != "version" and isinstance(value, int | float | str)}


ENGINE = VllmEngine()
