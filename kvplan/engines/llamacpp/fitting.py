"""The longest context and the most slots that fit a node, by the exact size of caches and masks."""

from collections.abc import Callable

from kvplan.core.engine import Capacity
from kvplan.core.ledger import Entry
from kvplan.core.units import MAX_COUNT
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp.cache import pool
from kvplan.engines.llamacpp.context import resolved
from kvplan.engines.llamacpp.entries import COPIES
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.settings import Settings
from kvplan.engines.llamacpp.tail import masks

_STEP = 256


def capacity(laid: Laid, entries: tuple[Entry, ...], load: Workload) -> Capacity | None:
    """What fits for certain beside ``entries``; buffers of steps are those of the settings, with masks of their size."""
    if not laid.node.gpus or not laid.settings.devices:
        return None
    settings, slots = laid.settings, laid.context.n_seq_max
    apart = 1 if settings.kv_unified else slots
    fits = _fitting(laid, entries)
    limit = laid.model.max_ctx_tokens or MAX_COUNT
    longest = _largest(lambda n: fits(settings._replace(n_ctx=n * apart)), limit)
    each = load.ctx_tokens
    most = _largest(lambda n: fits(settings._replace(n_ctx=each * n, n_parallel=n)), _MOST_SLOTS)
    return Capacity(None, None, None, None, None, None, max_ctx_tokens=longest, max_batch=most)


_MOST_SLOTS = 256


def _fitting(laid: Laid, entries: tuple[Entry, ...]) -> Callable[[Settings], bool]:
    """Whether other settings fit: what is there beside caches stays, but for masks, which grow with the cells."""
    kept = {place.id: place.usable_bytes or 0 for place in laid.node.places()}
    for entry in entries:
        if entry.term not in ("kv_cache", "recurrent_state") and entry.name != COPIES and entry.place in kept:
            kept[entry.place] -= entry.size.high
    before = sum(masks(laid.context, laid.cache.pools))
    kinds = {held.row.kind: held.row for held in laid.cache.held}
    rates = [(kind, laid.place(buffer), n_bytes // laid.cache.pools[kind].n_cells) for (kind, buffer), n_bytes in laid.cached.items()]
    rates += [(copy.kind, laid.place(buffer), copy.cell_bytes) for buffer, copy in laid.copies.items()]

    def fits(settings: Settings) -> bool:
        context = resolved(laid.model, settings, laid.frame.manner)
        pools = {kind: pool(row, settings, context) for kind, row in kinds.items()}
        more = max(0, sum(masks(context, pools)) - before)
        left = {place: n_bytes - more for place, n_bytes in kept.items()}
        for kind, place, rate in rates:
            if place in left:
                left[place] -= rate * pools[kind].n_cells
        return all(n_bytes >= 0 for n_bytes in left.values())

    return fits


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number up to ``most`` that fits, 0 if none; fitting must end once and for all."""
    low, high = 0, most + 1
    n = min(most, 8192)
    while high - low > 1:
        low, high = (n, high) if fits(n) else (low, n)
        n = min(2 * n, most) if high == most + 1 and n < most else (low + high) // 2
    return low
