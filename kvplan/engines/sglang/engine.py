"""The SGLang engine behind the seam."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kvplan.core import option_file
from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.model import ModelSpec
from kvplan.core.pace import Pace
from kvplan.core.pooled import PooledDeployment
from kvplan.core.server_command import parsed as read
from kvplan.core.workload import Workload
from kvplan.engines.sglang import command, plan
from kvplan.engines.sglang.flags import SAME
from kvplan.engines.sglang.resolve import resolve
from kvplan.engines.sglang.settings import Settings
from kvplan.engines.sglang.versions import VERSIONS

_FILE = ("--config",)


class SglangEngine:
    """Reads ``sglang.launch_server``, sizes its pools as SGLang does."""

    name = "sglang"
    versions = VERSIONS
    formats = ("safetensors",)
    follows: Sequence[str] = ()
    options = MappingProxyType(
        {"dtype": "dtype", "kv_dtype": "kv-cache-dtype", "tp": "tp-size", "pp": "pp-size", "dp": "dp-size", "ep": "ep-size"}
    )

    def parse(self, argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
        """A whole command line. Raises RequestError for one that starts no server."""
        return read(argv, env, version, command.SPEECH)

    def resolve(self, parsed: Parsed, load: Workload, model: ModelSpec, node: Node, version: str) -> Settings:
        """Every default filled in. Raises RequestError for values that no SGLang takes."""
        return resolve(parsed, model, node, version)

    def deploy(self, model: ModelSpec, settings: Settings, node: Node) -> PooledDeployment:
        """The pools and the ledger behind these settings."""
        return PooledDeployment(plan.plan(model, settings, node), node)

    def command(self, settings: Settings) -> tuple[str, ...]:
        """The command that gives these settings."""
        return command.spelled(settings)

    def config_file(self, argv: Sequence[str]) -> str | None:
        """What ``--config`` names."""
        return option_file.named(argv, _FILE)

    def with_config(self, argv: Sequence[str], content: Mapping[str, object]) -> tuple[str, ...]:
        """The file's settings in its place, without those that the line says itself."""
        words, at = option_file.without(argv, _FILE)
        said = {_name(word) for word in words if word.startswith("--")}
        kept = {key: value for key, value in content.items() if _name(f"--{key}") not in said}
        return (*words[:at], *option_file.as_words(kept), *words[at:])

    def limits(self, settings: Settings) -> tuple[int | None, int | None]:
        """``--context-length`` and ``--max-running-requests``."""
        return settings.context_length, settings.max_running_requests

    def pace(self, settings: Settings, model: ModelSpec) -> Pace | None:
        """Prompts in chunks, steps as graphs; drafting is not modeled."""
        if settings.speculative is not None:
            return None
        return Pace(
            engine="served" if settings.graph_batches else "launched",
            dtype=settings.dtype,
            chunk_tokens=settings.chunked_prefill_size if settings.chunked_prefill_size > 0 else None,
            tp=settings.tp,
            pp=settings.pp,
            dp=settings.dp,
        )

    def shown(self, settings: Settings) -> Mapping[str, int | float | str | bool | None]:
        """Every setting but the version, which the answer shows beside them."""
        return {key: value for key, value in settings._asdict().items() if key != "version" and value is not None}


def _name(word: str) -> str:
    name = word.partition("=")[0].lstrip("-").replace("_", "-")
    return SAME.get(name, name)


ENGINE = SglangEngine()
