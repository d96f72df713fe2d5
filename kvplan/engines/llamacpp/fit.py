"""What ``--fit`` makes of a context and a placement that nobody named: what devices hold with a margin.

Source: llama.cpp b11434 common/fit.cpp: memory is measured at the least and at the trained context, and the context is taken on the
line between them; where that is still too much, layers stay on the host.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping

from kvplan.core.device import Node
from kvplan.core.model import ModelSpec
from kvplan.engines.llamacpp.cache import Pool
from kvplan.engines.llamacpp.devices import CPU
from kvplan.engines.llamacpp.frame import Frame, frame
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.projector import projector
from kvplan.engines.llamacpp.rows import Kind
from kvplan.engines.llamacpp.settings import AUTO_LAYERS, Settings

_STEP = 256
_SERVERS = ("server", "cli", "ollama")


def fitted(model: ModelSpec, settings: Settings, node: Node) -> Settings:
    """The settings with the context and the placement that ``--fit`` chooses; as they are where both were said, or no device is known."""
    return laid_out(model, settings, node).settings


def laid_out(model: ModelSpec, settings: Settings, node: Node) -> Laid:
    """The model under the settings that ``--fit`` makes of these."""
    if not settings.fit or not settings.devices or not node.gpus:
        return Laid(model, settings, node)
    settings = _shortened(model, settings, node)
    return Laid(model, settings, node) if by_hand(settings) else _moved(model, settings, node)


def by_hand(settings: Settings) -> bool:
    """Whether the command places layers or tensors itself: then ``--fit`` moves none."""
    placed = settings.n_gpu_layers != AUTO_LAYERS or settings.tensor_split or settings.override_tensors
    return bool(placed or settings.cpu_moe or settings.n_cpu_moe or settings.n_cpu_ffn)


def _shortened(model: ModelSpec, settings: Settings, node: Node) -> Settings:
    trained = model.max_ctx_tokens
    if settings.n_ctx or trained is None or trained <= settings.fit_ctx:
        return settings
    budget = frame(model, settings, node).budget
    most = _on_devices(Laid(model, settings._replace(n_ctx=trained), node))
    if most <= budget:
        return settings
    least = _on_devices(Laid(model, settings._replace(n_ctx=settings.fit_ctx), node))
    room = max(0, budget - least) * (trained - settings.fit_ctx) // max(1, most - least)
    step = _STEP * (1 if settings.kv_unified else settings.n_parallel)
    return settings._replace(n_ctx=max(settings.fit_ctx, (settings.fit_ctx + room) // step * step))


def _moved(model: ModelSpec, settings: Settings, node: Node) -> Laid:
    """Experts of the first layers to the host, as few as will do; where that is not enough or there are none, whole layers.

    llama.cpp moves parts of a layer's experts too and so keeps a little more on devices.
    """
    whole, n_layers = Laid(model, settings, node), model.n_layers
    if _fits(whole):
        return whole
    n_cpu_moe = 0
    if any(ffn.kind == "moe" for run in model.runs for ffn in run.layer.ffns):
        if _fits(whole.placed(AUTO_LAYERS, n_layers)):
            return _least(whole, lambda n: (AUTO_LAYERS, n), n_layers)
        n_cpu_moe = n_layers
    return _least(whole, lambda n: (n_layers + 1 - n, n_cpu_moe), n_layers + 1)


def _least(whole: Laid, placed: Callable[[int], tuple[int, int]], most: int) -> Laid:
    """Of what is ``placed`` by numbers up to ``most`` the first from which on it fits; that of ``most`` where nothing does.

    Most of what is too much is so without its graph: the search begins where model and caches fit.
    """
    frame, pools = whole.frame, whole.pools
    low = bisect_left(range(most), True, key=lambda n: _in_buffers(frame.placed(*placed(n)), pools) <= frame.budget)  # noqa: FBT003
    high, step = low, 1
    found = whole.placed(*placed(high))
    while high < most and not _fits(found):
        low, high, step = high + 1, min(most, high + step), 2 * step
        found = whole.placed(*placed(high))
    while low < high:
        tried = whole.placed(*placed((low + high) // 2))
        if _fits(tried):
            high, found = (low + high) // 2, tried
        else:
            low = (low + high) // 2 + 1
    return found


def _fits(laid: Laid) -> bool:
    held, budget = _in_buffers(laid.frame, laid.pools), laid.frame.budget
    return held <= budget and held + _computing(laid) <= budget


def _on_devices(laid: Laid) -> int:
    """Model, caches and graphs on devices: what it calls projected."""
    return _in_buffers(laid.frame, laid.pools) + _computing(laid)


def _in_buffers(frame: Frame, pools: Mapping[Kind, Pool]) -> int:
    """Model and caches on devices."""
    return frame.device_weights + sum([n_bytes * pools[kind].n_cells for kind, n_bytes in frame.device_cells])


def _computing(laid: Laid) -> int:
    """Graphs on devices; a server adds the projector: tools/server/server-context.cpp."""
    graphs = sum([n_bytes for device, n_bytes in laid.compute.n_bytes.items() if device != CPU])
    beside = 0
    if laid.settings.app in _SERVERS and laid.settings.mmproj is not None:
        beside = sum(entry.size.best for entry in projector(laid) if entry.place != "host")
    return graphs + sum(copy.n_bytes for copy in laid.copies.values()) + beside
