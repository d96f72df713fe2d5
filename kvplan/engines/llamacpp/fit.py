"""What ``--fit`` makes of a context that nobody named: the longest that devices hold with a margin.

Source: llama.cpp b11434 common/fit.cpp: memory is measured at the least and at the trained context, and the context is taken on the
line between them. Layers that it would then leave on the host are not followed.
"""

from kvplan.core.device import Node
from kvplan.core.model import ModelSpec
from kvplan.core.units import MIB
from kvplan.engines.llamacpp.devices import CPU
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.settings import Settings

_STEP = 256


def fitted(model: ModelSpec, settings: Settings, node: Node) -> Settings:
    """The settings with the context that ``--fit`` chooses; as they are where one was said, or nothing is known of the devices."""
    trained = model.max_ctx_tokens
    if not settings.fit or settings.n_ctx or not settings.devices or not node.gpus or trained is None or trained <= settings.fit_ctx:
        return settings
    budget = _budget(settings, node)
    most = _on_devices(Laid(model, settings._replace(n_ctx=trained), node))
    if most <= budget:
        return settings
    least = _on_devices(Laid(model, settings._replace(n_ctx=settings.fit_ctx), node))
    room = max(0, budget - least) * (trained - settings.fit_ctx) // max(1, most - least)
    step = _STEP * (1 if settings.kv_unified else settings.n_parallel)
    return settings._replace(n_ctx=max(settings.fit_ctx, (settings.fit_ctx + room) // step * step))


def _budget(settings: Settings, node: Node) -> int:
    """Free bytes of all devices less the margin of each."""
    margins = [*settings.fit_target_mib, *settings.fit_target_mib[-1:] * len(settings.devices)]
    places = node.places()
    return sum((places[index].usable_bytes or 0) - margin * MIB for index, margin in zip(settings.devices, margins, strict=False))


def _on_devices(laid: Laid) -> int:
    """Model, caches and graphs on devices: what it calls projected."""
    names = laid.layout.names
    weights = sum(n_bytes for name, n_bytes in laid.weights.buffers.items() if name in names)
    caches = sum(n_bytes for (_, name), n_bytes in laid.cached.items() if name in names)
    return weights + caches + sum(n_bytes for device, n_bytes in laid.compute.n_bytes.items() if device != CPU)
