"""What drafts tokens: a model of its own beside the first, or the first one's next-token layers in a context of theirs.

Source: llama.cpp b11434 common/speculative.cpp; tools/server/server-context.cpp: the drafter has the context and the slots of the
model that it drafts for, and cache types of its own.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Entry, Interval, exactly
from kvplan.engines.llamacpp.cache import cache
from kvplan.engines.llamacpp.devices import CPU
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.settings import Drafting, Settings

_SHARE = (40, 75, 120)
"""Hundredths of the model's own compute buffers that a context of next-token layers reserves: 147 MiB measured beside 194."""


def drafting_context(laid: Laid) -> Laid | None:
    """The drafting model's own process-within, None where no such model was read."""
    drafting, draft = laid.settings.drafting, laid.model.draft
    if drafting is None or draft is None or drafting.model is None:
        return None
    return Laid(draft, _settings(laid.settings, drafting, drafting.model), laid.node)


def _settings(settings: Settings, drafting: Drafting, model: str) -> Settings:
    return settings._replace(
        model=model,
        type_k=drafting.type_k,
        type_v=drafting.type_v,
        n_gpu_layers=drafting.n_gpu_layers,
        n_ctx=settings.n_ctx,
        drafting=None,
        override_tensors=(),
        cpu_moe=False,
        n_cpu_moe=0,
        n_cpu_ffn=0,
    )


def of_next_token_layers(laid: Laid) -> Iterator[Entry]:
    """The cache of the model's next-token layers, whose weights are among its own, and their graph."""
    drafting = laid.settings.drafting
    if drafting is None or not drafting.is_mtp or not laid.model.mtp:
        return
    own = cache(laid.model, _settings(laid.settings, drafting, laid.settings.model), laid.context, laid.model.mtp)
    device = laid.layout.blocks[-1] if laid.settings.offload_kqv else CPU
    buffer = laid.layout.name(device)
    source = "llama.cpp b11434 common/speculative.cpp; measured on b11434"
    formula = "all cells of the context in each next-token layer"
    yield Entry(
        "draft_model", "KV cache of next-token layers", laid.place(buffer), exactly(own.n_bytes), "exact", formula, {}, source, buffer
    )
    for at, n_bytes in laid.compute.n_bytes.items():
        name = laid.host_buffer if at == CPU else laid.layout.names[at]
        size = Interval(*(n_bytes * share // 100 for share in _SHARE))
        formula = "like the model's own, without most of its layers"
        yield Entry("draft_model", "compute buffer of next-token layers", laid.place(name), size, "modeled", formula, {}, source, name)
