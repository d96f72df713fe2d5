"""The text-generation-inference engine behind the seam."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.model import ModelSpec
from kvplan.core.pace import Pace
from kvplan.core.pooled import PooledDeployment
from kvplan.core.server_command import parsed as read
from kvplan.core.workload import Workload
from kvplan.engines.tgi.command import SPEECH, spelled
from kvplan.engines.tgi.plan import plan
from kvplan.engines.tgi.resolve import resolve
from kvplan.engines.tgi.rules import VERSIONS
from kvplan.engines.tgi.settings import Settings


class TgiEngine:
    """Reads ``text-generation-launcher``, sizes its pool from what the largest prefill leaves."""

    name = "tgi"
    versions = VERSIONS
    formats = ("safetensors",)
    follows: Sequence[str] = ()
    options = MappingProxyType({"dtype": "dtype", "kv_dtype": "kv-cache-dtype", "tp": "num-shard"})

    def parse(self, argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
        """A whole command line. Raises RequestError for one that starts no server."""
        return read(argv, env, version, SPEECH)

    def resolve(self, parsed: Parsed, load: Workload, model: ModelSpec, node: Node, version: str) -> Settings:
        """Every default filled in. Raises RequestError for values that no launcher takes."""
        return resolve(parsed, model, node, version)

    def deploy(self, model: ModelSpec, settings: Settings, node: Node) -> PooledDeployment:
        """The pool and the ledger behind these settings."""
        return PooledDeployment(plan(model, settings, node), node)

    def command(self, settings: Settings) -> tuple[str, ...]:
        """The command that gives these settings."""
        return spelled(settings)

    def limits(self, settings: Settings) -> tuple[int | None, int | None]:
        """``--max-total-tokens`` and ``--max-batch-size``, else ``--max-concurrent-requests``."""
        return settings.max_total_tokens, settings.max_batch_size or settings.max_concurrent_requests

    def pace(self, settings: Settings, model: ModelSpec) -> Pace | None:
        """Prompts in chunks, steps as graphs."""
        return Pace(
            engine="served" if settings.cuda_graphs else "launched",
            dtype=settings.dtype,
            chunk_tokens=settings.max_batch_prefill_tokens,
            tp=settings.num_shard,
        )

    def shown(self, settings: Settings) -> Mapping[str, int | float | str | bool | None]:
        """Every plain setting but the version; the shards also by the name that all engines share."""
        plain = {key: value for key, value in settings._asdict().items() if key != "version" and isinstance(value, int | float | str)}
        return {**plain, "tp": settings.num_shard}


ENGINE = TgiEngine()
