"""The TensorRT-LLM engine behind the seam."""

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
from kvplan.engines.tensorrt_llm.command import SPEECH, spelled
from kvplan.engines.tensorrt_llm.flags import flat
from kvplan.engines.tensorrt_llm.plan import plan
from kvplan.engines.tensorrt_llm.resolve import resolve
from kvplan.engines.tensorrt_llm.rules import VERSIONS
from kvplan.engines.tensorrt_llm.settings import Settings

_FILE = ("--config", "--extra-llm-api-options", "--extra-engine-args")


class TensorrtLlmEngine:
    """Reads ``trtllm-serve`` and its file of options, gives its pool a share of what a trial pass leaves."""

    name = "tensorrt-llm"
    versions = VERSIONS
    formats = ("safetensors",)
    follows: Sequence[str] = ()
    options = MappingProxyType({"dtype": "dtype", "kv_dtype": "kv-cache-dtype", "tp": "tp-size", "pp": "pp-size", "ep": "ep-size"})

    def parse(self, argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
        """A whole command line. Raises RequestError for one that starts no server."""
        return read(argv, env, version, SPEECH)

    def resolve(self, parsed: Parsed, load: Workload, model: ModelSpec, node: Node, version: str) -> Settings:
        """Every default filled in. Raises RequestError for values that no TensorRT-LLM takes."""
        return resolve(parsed, model, node, version)

    def deploy(self, model: ModelSpec, settings: Settings, node: Node) -> PooledDeployment:
        """The pool and the ledger behind these settings."""
        return PooledDeployment(plan(model, settings, node), node)

    def command(self, settings: Settings) -> tuple[str, ...]:
        """The command that gives these settings."""
        return spelled(settings)

    def config_file(self, argv: Sequence[str]) -> str | None:
        """What ``--extra_llm_api_options`` or ``--config`` names."""
        return option_file.named(argv, _FILE)

    def with_config(self, argv: Sequence[str], content: Mapping[str, object]) -> tuple[str, ...]:
        """The file's options behind the line's own, as they win over these."""
        words, _ = option_file.without(argv, _FILE)
        return (*words, *option_file.as_words(dict(flat(content))))

    def limits(self, settings: Settings) -> tuple[int | None, int | None]:
        """``--max_seq_len`` and ``--max_batch_size``."""
        return settings.max_seq_len, settings.max_batch_size

    def pace(self, settings: Settings, model: ModelSpec) -> Pace | None:
        """Prompts in chunks, steps as graphs."""
        return Pace(
            engine="served" if settings.graph_batches else "launched",
            dtype=settings.dtype,
            chunk_tokens=settings.max_num_tokens,
            tp=settings.tp,
            pp=settings.pp,
        )

    def shown(self, settings: Settings) -> Mapping[str, int | float | str | bool | None]:
        """Every setting but the version, which the answer shows beside them."""
        return {key: value for key, value in settings._asdict().items() if key != "version" and value is not None}


ENGINE = TensorrtLlmEngine()
