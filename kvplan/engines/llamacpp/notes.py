"""What is known to exist and is not counted."""

from kvplan.core.ledger import NotModeled
from kvplan.engines.llamacpp.laid import Laid


def not_modeled(laid: Laid) -> tuple[NotModeled, ...]:
    """Files beside the model, which an engine does not read, and memory that no log prints."""
    settings, found = laid.settings, []
    if settings.lora:
        found.append(NotModeled("lora", f"{len(settings.lora)} adapters: as large as their files"))
    if settings.mmproj is not None:
        found.append(NotModeled("projector", "the projector (mmproj): as large as its file, and its compute buffer"))
    drafting = settings.drafting
    if drafting is not None and not drafting.is_mtp and drafting.model is not None and laid.model.draft is None:
        found.append(NotModeled("draft_model", "what drafts tokens: its weights, its cache at the same context, its compute buffer"))
    if laid.layout.names:
        found.append(NotModeled("pools", "scratch of the device's kernels, which grows with the first requests"))
    return tuple(found)
