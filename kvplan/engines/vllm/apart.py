"""Whether layers of several kinds keep tables of their own, or all are kept as the one that keeps most."""

from kvplan.core.model import ModelSpec
from kvplan.engines.vllm.drafting import READ_ON
from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.said import Said, text
from kvplan.engines.vllm.settings import Speculative

_TRANSFER = "kv-transfer-config"
_SEVERAL = ("DecodeBench", "ExampleHiddenStates", "HiSparse", "Mooncake", "MooncakeStore", "MoRIIO", "Nixl", "NixlPull", "NixlPush")
_TAKE_SEVERAL = frozenset(f"{name}Connector" for name in (*_SEVERAL, "Offloading", "SimpleCPUOffload", "UMBPStore"))
"""Connectors that take blocks of several kinds. Source: vllm 0.33.0 distributed/kv_transfer, SupportsHMA."""


def hybrid_manager(said: Said, rules: Rules, model: ModelSpec, drafter: Speculative | None) -> bool:
    """Whether the manager of several kinds of layers is on.

    Source: vllm 0.10.2, 0.14.1, 0.22.1 and 0.33.0 config/vllm.py, __post_init__.
    """
    asked = said.switch("disable-hybrid-kv-cache-manager")
    if asked or _local(rules, model, drafter):
        return False
    return asked is False or not _transfers(said, rules)


def _local(rules: Rules, model: ModelSpec, drafter: Speculative | None) -> bool:
    """Whether chunks turn it off."""
    if rules.chunks_together == "never" or not any(mixer.kind == "chunked" for run in model.runs for mixer in run.layer.mixers):
        return False
    return rules.chunks_together == "always" or (drafter is not None and drafter.method in READ_ON)


def _transfers(said: Said, rules: Rules) -> bool:
    """Whether a connector for blocks of the cache turns it off, in older versions any."""
    if rules.transfers_together == "all":
        return _TRANSFER in said or "kv-events-config" in said
    return rules.transfers_together == "some" and _TRANSFER in said and not _takes_several(said.json(_TRANSFER))


def _takes_several(found: dict[str, object]) -> bool:
    """Whether the connector takes blocks of several kinds; one that calls others does where all of those do."""
    name = text(found, "kv_connector", _TRANSFER)
    if name != "MultiConnector":
        return name is None or name in _TAKE_SEVERAL
    more = found.get("kv_connector_extra_config")
    inner = more.get("connectors") if isinstance(more, dict) else None
    return isinstance(inner, list) and all(isinstance(one, dict) and _takes_several(one) for one in inner)
