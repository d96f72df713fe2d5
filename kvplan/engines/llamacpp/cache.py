"""Caches of keys and values, and recurrent states, in bytes by layer.

Source: llama.cpp b11434 src/llama-kv-cache.cpp, llama-kv-cache-iswa.cpp, llama-kv-cache-dsv4.cpp, llama-memory-recurrent.cpp.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.core.dtypes import dtype
from kvplan.core.model import LayerRun, ModelSpec
from kvplan.core.remembered import Remembered
from kvplan.core.units import ceil_div, ceil_to
from kvplan.engines.llamacpp.context import Context, flash_attn
from kvplan.engines.llamacpp.rows import Kind, Row, rows
from kvplan.engines.llamacpp.settings import Settings

_STATE = dtype("f32")
_ENTRY_TOKENS = {"csa": 4, "hca": 128}


class Held(NamedTuple):
    """What equal layers, ``first`` and those behind it, have of one cache: bytes of each layer, all cells and streams counted.

    A state's two parts stand for key and value.
    """

    first: int
    n_layers: int
    row: Row
    k_bytes: int
    v_bytes: int

    @property
    def n_bytes(self) -> int:
        """Of all these layers."""
        return self.n_layers * (self.k_bytes + self.v_bytes)


class Pool(NamedTuple):
    """Cells of each stream of one kind of cache; of a state, the sequences and their rollbacks."""

    cells: int
    streams: int

    @property
    def n_cells(self) -> int:
        """Of all streams."""
        return self.cells * self.streams


class Cache(NamedTuple):
    """Everything that is kept from token to token."""

    pools: dict[Kind, Pool]
    held: tuple[Held, ...]

    @property
    def n_bytes(self) -> int:
        """All layers."""
        return sum(held.n_bytes for held in self.held)


class Rate(NamedTuple):
    """What equal layers, ``first`` and those behind it, have of one cache: bytes of a cell's key and value in each layer."""

    first: int
    n_layers: int
    row: Row
    k_bytes: int
    v_bytes: int


_known: Remembered[tuple[Rate, ...]] = Remembered(256)


def rates(model: ModelSpec, settings: Settings) -> tuple[Rate, ...]:
    """Bytes of cells of the model's own layers."""
    key = (settings.type_k, settings.type_v, flash_attn(model, settings))
    return _known.get(model, key, lambda: rates_of(model, settings, model.runs))


def rates_of(model: ModelSpec, settings: Settings, runs: tuple[LayerRun, ...]) -> tuple[Rate, ...]:
    """Bytes of cells of ``runs``: the model's own layers, or its next-token layers in a context of theirs."""
    kept = [rows(model, run.layer) for run in runs]
    flash = flash_attn(model, settings)
    widest = 0 if flash else max((row.v_elems for each in kept for row in each if row.kind in ("full", "swa")), default=0)
    found, start = [], 0
    for run, each in zip(runs, kept, strict=True):
        found += [Rate(start, run.n_layers, row, *_sizes(row, settings, widest)) for row in each]
        start += run.n_layers
    return tuple(found)


def cache(model: ModelSpec, settings: Settings, context: Context, runs: tuple[LayerRun, ...]) -> Cache:
    """The caches of ``runs`` in a context."""
    found = rates(model, settings) if runs is model.runs else rates_of(model, settings, runs)
    return in_pools(found, pools(kinds(found), settings, context))


def kinds(found: tuple[Rate, ...]) -> dict[Kind, Row]:
    """The first row of each kind of cache."""
    first: dict[Kind, Row] = {}
    for rate in found:
        first.setdefault(rate.row.kind, rate.row)
    return first


def in_pools(found: tuple[Rate, ...], pools: dict[Kind, Pool]) -> Cache:
    """The caches whose cells take ``found``, so many as ``pools`` have."""
    held = []
    for first, n_layers, row, k_bytes, v_bytes in found:
        cells = pools[row.kind].n_cells
        held.append(Held(first, n_layers, row, cells * k_bytes, cells * v_bytes))
    return Cache(pools, tuple(held))


def pools(kinds: Mapping[Kind, Row], settings: Settings, context: Context) -> dict[Kind, Pool]:
    """Cells of each kind of cache, by a row of each."""
    return {kind: pool(row, settings, context) for kind, row in kinds.items()}


def pool(row: Row, settings: Settings, context: Context) -> Pool:
    """Cells of the cache of ``row``. Windows are padded after they are clamped to the context; a shared cache holds one for each slot."""
    streams = context.n_seq_max if row.apart else context.n_streams
    if row.kind == "state":
        return Pool(1 + context.n_rollback, context.n_seq_max)
    if row.kind in _ENTRY_TOKENS:
        return Pool(ceil_to(ceil_div(context.n_ctx_seq, _ENTRY_TOKENS[row.kind]), context.cell_pad), streams)
    if row.kind != "swa" or settings.swa_full:
        return Pool(ceil_to(context.n_ctx_seq, context.cell_pad), streams)
    windows = row.window_tokens * (context.n_seq_max if streams == 1 else 1)
    return Pool(ceil_to(min(context.n_ctx_seq, windows + context.n_ubatch), context.cell_pad), streams)


def _sizes(row: Row, settings: Settings, widest: int) -> tuple[int, int]:
    """Bytes of a cell's key and value. Without flash attention values lie transposed, as wide in each layer as in the widest."""
    if row.kind == "state":
        return _STATE.row_bytes(row.k_elems), _STATE.row_bytes(row.v_elems)
    v_elems = max(widest, row.v_elems) if row.v_elems and row.kind != "indexer" else row.v_elems
    return dtype(settings.type_k).row_bytes(row.k_elems), dtype(settings.type_v).row_bytes(v_elems)
