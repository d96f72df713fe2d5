"""What is known to exist and is not counted."""

from kvplan.core.ledger import NotModeled
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.projector import n_elems


def not_modeled(laid: Laid) -> tuple[NotModeled, ...]:
    """Files beside the model, which an engine does not read, and memory that no log prints."""
    settings, found = laid.settings, []
    if settings.lora:
        found.append(NotModeled("lora", f"{len(settings.lora)} adapters: as large as their files"))
    if settings.mmproj is not None:
        what = "its compute buffer" if n_elems(laid.model) else "as large as its file, and its compute buffer"
        found.append(NotModeled("projector", f"the projector (mmproj): {what}"))
    if settings.cache_ram_mib < 0:
        found.append(
            NotModeled("prompt_cache", "saved prompts without a limit (--cache-ram -1): the cache's bytes of each of their tokens")
        )
    drafting = settings.drafting
    if drafting is not None and not drafting.is_mtp and drafting.model is not None and laid.model.draft is None:
        found.append(NotModeled("draft_model", "what drafts tokens: its weights, its cache at the same context, its compute buffer"))
    if laid.layout.names:
        found.append(NotModeled("pools", "scratch of the device's kernels, which grows with the first requests"))
    return tuple(found)
