"""The cache as the answer shows it: groups of equal layers, bytes per token, what the mathematics keeps."""

from collections import Counter

from kvplan.core.dtypes import dtype
from kvplan.core.ledger import KvGroup, KvPlan
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.rows import Kind, Row
from kvplan.engines.llamacpp.settings import Settings

_KINDS: dict[Kind, str] = {"full": "full", "swa": "sliding", "indexer": "full", "csa": "full", "hca": "full", "state": "recurrent"}
_ENTRY_TOKENS = {"csa": 4, "hca": 128}


def kv_plan(laid: Laid, load: Workload) -> KvPlan:
    """The cache over all devices: llama.cpp reserves all of it, whatever the workload."""
    settings = laid.settings
    rows = Counter[Row]()
    for held in laid.cache.held:
        rows[held.row] += held.n_layers
    ideal, longer = (sum(count * _kept(row, settings, n) for row, count in rows.items()) for n in (load.ctx_tokens, load.ctx_tokens + 1))
    reserved = laid.cache.n_bytes
    return KvPlan(
        k_dtype=settings.type_k,
        v_dtype=settings.type_v,
        bytes_per_token=sum(count * _per_token(row, settings) for row, count in rows.items() if row.kind != "state"),
        marginal_bytes_per_token=max(0, longer - ideal),
        state_bytes_per_sequence=sum(4 * count * (row.k_elems + row.v_elems) for row, count in rows.items() if row.kind == "state"),
        ideal_bytes=min(reserved, load.batch * ideal),
        reserved_bytes=reserved,
        groups=_groups(rows, settings),
    )


def _per_token(row: Row, settings: Settings) -> int:
    return dtype(settings.type_k).row_bytes(row.k_elems) + dtype(settings.type_v).row_bytes(row.v_elems)


def _kept(row: Row, settings: Settings, n_tokens: int) -> int:
    if row.kind == "state":
        return 4 * (row.k_elems + row.v_elems)
    cells = min(n_tokens, row.window_tokens or n_tokens) // _ENTRY_TOKENS.get(row.kind, 1)
    return cells * _per_token(row, settings)


def _groups(rows: Counter[Row], settings: Settings) -> tuple[KvGroup, ...]:
    counts: dict[tuple[str, int | None, int], int] = {}
    for row, count in rows.items():
        key = _KINDS[row.kind], row.window_tokens or None, 0 if row.kind == "state" else _per_token(row, settings)
        counts[key] = counts.get(key, 0) + count
    return tuple(KvGroup(kind, n_layers, window, cost) for (kind, window, cost), n_layers in counts.items())
