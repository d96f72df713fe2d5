"""Models and deployments for the tests of this engine."""

from collections.abc import Mapping

from kvplan.core.device import UNKNOWN_NODE, Gpu, Node
from kvplan.core.engine import Flag, Parsed
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.transformers.deployment import Deployment
from kvplan.engines.transformers.engine import ENGINE
from kvplan.engines.transformers.settings import Settings
from kvplan.specs.build import build

NEWEST = "5.24.0"
SMALL: dict[str, object] = {
    "model_type": "llama",
    "vocab_size": 1000,
    "hidden_size": 64,
    "intermediate_size": 176,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "torch_dtype": "bfloat16",
}


def model(config: Mapping[str, object] = SMALL, changed: Mapping[str, object] = {}, **changes: object) -> ModelSpec:
    """The model of a config with ``changed`` and ``changes``."""
    return build({"torch_dtype": "bfloat16", **config, **changed, **changes}, where="config.json")


def gpu(capability: tuple[int, int] | None = (8, 0), *, vendor: str = "NVIDIA") -> Node:
    """A node with one card of 80 GiB."""
    return Node("card", "flag", (Gpu("card", "Card", vendor, 80 * 2**30, 80 * 2**30, compute_capability=capability),))


def settings(spec: ModelSpec, flags: Mapping[str, str] = {}, *, version: str = NEWEST, node: Node = UNKNOWN_NODE, **more: str) -> Settings:
    """Resolved settings; flags are the engine's own names."""
    said = tuple(Flag(name, value) for name, value in {**flags, **more}.items())
    return ENGINE.resolve(Parsed("transformers", version, "m", said), Workload(8, 1, 7), spec, node, version)


def deployment(
    spec: ModelSpec, flags: Mapping[str, str] = {}, *, version: str = NEWEST, node: Node = UNKNOWN_NODE, **more: str
) -> Deployment:
    """The model deployed with these flags."""
    return ENGINE.deploy(spec, settings(spec, flags, version=version, node=node, **more), node)
