"""What servers with a pool of tokens keep: layers grouped by the tokens of a sequence that they hold."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.core.dtypes import DTYPES
from kvplan.core.errors import UnavailableError
from kvplan.core.ledger import KvGroup
from kvplan.core.mixers import Mixer, Mla
from kvplan.core.model import Layer, ModelSpec
from kvplan.core.sharding import heads_per_rank
from kvplan.core.state_shapes import asked_dtype, state_elems
from kvplan.core.units import ceil_div

INDEXER_KEY_SCALE = 4  # bytes of the scale beside each 128 channels of a key of 8 bits
_SCALED = 128


class Form(NamedTuple):
    """How one rank keeps its cache. ``dtype`` is the element type of keys and values, ``windows`` whether layers with a window keep
    no more than that. ``sparse_bytes`` is what a latent beside an indexer takes where it is packed in a way of its own, 0 where not;
    ``scale_elems`` is how many elements share a scale of one byte, 0 for none. ``indexers``: ``none`` of the layers keeps keys to be
    picked by, those with an indexer of their ``own`` do, or ``all``. ``ssm_dtype`` None: as the model asks, else ``float32``.
    ``expanded``: keys and values are kept, as wide as the wider of them, in the place of latents.
    """

    tp: int
    dtype: str
    windows: bool = True
    sparse_bytes: int = 0
    scale_elems: int = 0
    indexers: str = "own"
    conv_dtype: str = "bfloat16"
    ssm_dtype: str | None = None
    expanded: bool = False


class Cell(NamedTuple):
    """What one token takes in one layer, ``k_bytes`` of it keys; ``window_tokens`` None: all tokens of a sequence stay."""

    kind: str
    n_bytes: int
    k_bytes: int
    window_tokens: int | None = None


class Cells(NamedTuple):
    """The layers of one rank: cells of tokens, and bytes of the states of one sequence in ``n_state_layers``."""

    tokens: tuple[Cell, ...]
    state_bytes: int
    n_state_layers: int

    def every_group(self) -> tuple[KvGroup, ...]:
        """Equal layers together, those with states last."""
        counts: dict[Cell, int] = {}
        for cell in self.tokens:
            counts[cell] = counts.get(cell, 0) + 1
        groups = tuple(KvGroup(cell.kind, n, cell.window_tokens, cell.n_bytes) for cell, n in counts.items())
        return (*groups, KvGroup("recurrent", self.n_state_layers, None, 0)) if self.n_state_layers else groups


def cells(model: ModelSpec, form: Form, start: int = 0, end: int | None = None) -> Cells:
    """Those of the layers from ``start`` to before ``end``. Raises UnavailableError for a kind that is not modeled."""
    tokens: list[Cell] = []
    states: list[int] = []
    for layer in list(model.layers())[start:end]:
        if layer.kv_source is None:
            tokens += _of_layer(layer, form, _indexer_bytes(model))
            states += [size for mixer in layer.mixers if (size := _state(mixer, form))]
    return Cells(tuple(tokens), sum(states), len(states))


def _of_layer(layer: Layer, form: Form, key_bytes: int) -> Iterator[Cell]:
    for mixer in layer.mixers:
        match mixer.kind:
            case "full" | "sliding" | "chunked":
                window = None if mixer.kind == "full" or not form.windows else mixer.window_tokens
                found = _heads("full" if window is None else mixer.kind, mixer.n_kv_heads, (mixer.head_dim, mixer.v_head_dim), form)
                keys = key_bytes if mixer.kind == "full" and mixer.indexer is not None else 0
                yield found._replace(n_bytes=found.n_bytes + keys, window_tokens=window)
            case "cross":
                yield _heads("cross", mixer.n_kv_heads, (mixer.head_dim, mixer.head_dim), form)
            case "mla" if form.expanded:
                width = max(mixer.nope_head_dim + mixer.rope_head_dim, mixer.v_head_dim)
                yield _heads("full", mixer.n_heads, (width, width), form)
            case "mla":
                size = _latent(mixer, form, key_bytes)
                yield Cell("mla", size, size, mixer.window_tokens if form.windows else None)
            case "compressed":
                raise UnavailableError("not_modeled", "the pools of compressed attention (DeepSeek-V4) are modeled for vllm alone")
            case _:
                pass


def _heads(kind: str, n_kv_heads: int, dims: tuple[int, int], form: Form) -> Cell:
    n_heads = heads_per_rank(n_kv_heads, form.tp)
    k_bytes, v_bytes = (n_heads * _elems(dim, form) for dim in dims)
    return Cell(kind, k_bytes + v_bytes, k_bytes)


def _latent(mixer: Mla, form: Form, key_bytes: int) -> int:
    """One latent for all heads, the same on every rank, and the keys that tokens are picked by."""
    sparse = form.sparse_bytes if key_bytes else 0
    keys = {"none": 0, "all": key_bytes}.get(form.indexers, key_bytes if mixer.indexer is not None else 0)
    return (sparse or _elems(mixer.elems_per_token, form)) + keys


def _indexer_bytes(model: ModelSpec) -> int:
    """Bytes of a key of the model's indexers per token: a byte a channel, a scale for each 128; 0 where it has none.

    Source: sglang 0.5.23 srt/model_executor/pool_configurator.py, _compute_dsa_indexer_cell_size.
    """
    found = (m.indexer for run in model.runs for m in run.layer.mixers if m.kind in ("mla", "full") and m.indexer is not None)
    indexer = next(found, None)
    if indexer is None:
        return 0
    return ceil_div(indexer.head_dim + indexer.head_dim // _SCALED * INDEXER_KEY_SCALE, indexer.pool_tokens)


def _elems(n: int, form: Form) -> int:
    return DTYPES[form.dtype].row_bytes(n) + (n // form.scale_elems if form.scale_elems else 0)


def _state(mixer: Mixer, form: Form) -> int:
    conv, state = state_elems(mixer, form.tp)
    kept_as = form.ssm_dtype or asked_dtype(mixer) or "float32"
    return conv * DTYPES[form.conv_dtype].block_bytes + state * DTYPES[kept_as].block_bytes
