"""What the user should know of these settings, and what is known to exist and not counted."""

from collections.abc import Iterator

from kvplan.core import versions
from kvplan.core.ledger import Finding, NotModeled
from kvplan.core.model import ModelSpec
from kvplan.engines.vllm.cache import Cache
from kvplan.engines.vllm.content import is_quantized
from kvplan.engines.vllm.gone import last_version
from kvplan.engines.vllm.rules import engine_rules
from kvplan.engines.vllm.settings import Settings
from kvplan.engines.vllm.versions import VERSIONS


def findings(model: ModelSpec, settings: Settings, cache: Cache, *, newer: bool) -> tuple[Finding, ...]:
    """Notes on the version, on windows and on groups that are padded."""
    found = []
    if newer:
        found.append(versions.newer("vLLM", settings.version, VERSIONS[-1]))
    last = last_version(model.architecture, settings.version)
    if last is not None:
        message = f"vLLM {settings.version} has no {model.architecture} any more; {last} was the last with one"
        found.append(Finding("KV326", "warning", message, f"--engine vllm@{last}; or its Transformers backend, where that takes the model"))
    return (*found, *_of_drafter(model, settings), *_of_tokens(settings, cache), *_of_cache(settings, cache))


def _of_drafter(model: ModelSpec, settings: Settings) -> Iterator[Finding]:
    """A drafter of which nothing is known."""
    asked = settings.speculative
    if asked is not None and asked.model is not None and model.draft is None:
        message = f"the drafter '{asked.model}' was not read: its layers and weights are not counted"
        yield Finding("KV321", "warning", message, "name a model that kvplan can load")
    elif asked is not None and asked.method == "mtp" and asked.model is None and not model.mtp:
        message = f"{model.id or model.architecture} has no next-token layers that kvplan knows: no drafter is counted"
        yield Finding("KV321", "warning", message, "vLLM refuses to draft with a model that has none")


def _of_tokens(settings: Settings, cache: Cache) -> Iterator[Finding]:
    """What the printed tokens mean where they are no tokens of the pool: layers of several kinds, or windows alone."""
    n_groups = len(cache.pool.groups)
    normalized = engine_rules(settings.version, v1=settings.v1).tokens_by_concurrency
    bounded = normalized and any(slot.window_tokens for group in cache.pool.groups for slot in group.slots)
    if n_groups < 2 and not bounded:
        return
    what = f"{n_groups} groups of layers share one pool" if n_groups > 1 else "no layer keeps more than its window"
    printed = "concurrency × max_model_len" if normalized else "those of one group's share of the blocks"
    yield Finding("KV322", "note", f"{what}: printed tokens are {printed}", "compare max_concurrency of two lengths, not tokens")


def _of_cache(settings: Settings, cache: Cache) -> Iterator[Finding]:
    """What a cache in fewer bits or of a given size does not do."""
    kinds = {slot.kind for group in cache.pool.groups for slot in group.slots}
    if is_quantized(cache.form.kv_dtype) and "state" in kinds:
        message = f"{cache.form.kv_dtype} halves keys and values, not states: blocks hold more tokens, and there are no more blocks"
        yield Finding("KV323", "note", message, "--mamba-ssm-cache-dtype float16 shrinks states")
    if settings.kv_cache_memory_bytes is not None:
        message = "--kv-cache-memory-bytes sets the pool: nothing is subtracted from it, and utilization only bears on the check at start"
        yield Finding("KV324", "note", message, "leave room for activations and CUDA graphs")


def not_modeled(model: ModelSpec, settings: Settings) -> tuple[NotModeled, ...]:
    """What lies in the host's memory."""
    found = []
    if settings.cpu_offload_bytes:
        found.append(NotModeled("cpu_offload", "weights that stay in the host's memory", 0, settings.cpu_offload_bytes))
    if settings.kv_offloading_bytes:
        found.append(NotModeled("kv_offloading", "blocks that are copied to the host's memory", 0, settings.kv_offloading_bytes))
    return tuple(found)
