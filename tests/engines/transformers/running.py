"""Models and deployments for the tests of this engine."""

from collections.abc import Mapping

from kvplan.core.device import UNKNOWN_NODE, Gpu, Node
from kvplan.core.engine import Deployment as Ledger
from kvplan.core.engine import Flag, Parsed
from kvplan.core.ledger import Entry
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
MIXTURE: dict[str, object] = {
    "model_type": "mixtral",
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "sliding_window": None,
}
LATENT: dict[str, object] = {
    "model_type": "deepseek_v3",
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 96,
    "moe_intermediate_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
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
    """The model deployed with these flags on one device."""
    found = on_several(spec, flags, version=version, node=node, **more)
    assert isinstance(found, Deployment)
    return found


def on_several(spec: ModelSpec, flags: Mapping[str, str] = {}, *, version: str = NEWEST, node: Node = UNKNOWN_NODE, **more: str) -> Ledger:
    """The model deployed with these flags on one device or several."""
    return ENGINE.deploy(spec, settings(spec, flags, version=version, node=node, **more), node)


def by_term(entries: tuple[Entry, ...]) -> dict[str, Entry]:
    """Entries of one place under their terms."""
    return {entry.term: entry for entry in entries}
