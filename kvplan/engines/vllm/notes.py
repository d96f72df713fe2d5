"""What the user should know of these settings, and what is known to exist and not counted."""

from kvplan.core.ledger import Finding, NotModeled
from kvplan.core.model import ModelSpec
from kvplan.engines.vllm.cache import Cache
from kvplan.engines.vllm.settings import Settings
from kvplan.engines.vllm.versions import VERSIONS


def findings(model: ModelSpec, settings: Settings, cache: Cache, *, newer: bool) -> tuple[Finding, ...]:
    """Notes on the version, on windows and on groups that are padded."""
    found = []
    if newer:
        message = f"vLLM {settings.version} is newer than the versions that are modelled: the rules of {VERSIONS[-1]} are used"
        found.append(Finding("KV320", "warning", message, "bounds are wider"))
    if settings.speculative is not None and settings.speculative.model is not None and model.draft is None:
        message = f"the drafter '{settings.speculative.model}' was not read: its layers and weights are not counted"
        found.append(Finding("KV321", "warning", message, "name a model that kvplan can load"))
    return tuple(found)


def not_modeled(model: ModelSpec, settings: Settings) -> tuple[NotModeled, ...]:
    """What lies in the host's memory."""
    found = []
    if settings.cpu_offload_bytes:
        found.append(NotModeled("cpu_offload", "weights that stay in the host's memory", 0, settings.cpu_offload_bytes))
    if settings.kv_offloading_bytes:
        found.append(NotModeled("kv_offloading", "blocks that are copied to the host's memory", 0, settings.kv_offloading_bytes))
    return tuple(found)
