"""What tensor parallelism leaves of a weight group on one rank."""

from typing import NamedTuple

from kvplan.core.dtypes import DTYPES
from kvplan.core.model import WeightGroup
from kvplan.core.units import ceil_div, ceil_to

VOCAB_STEP = 64  # vllm 0.33 and sglang 0.5.23 layers/vocab_parallel_embedding.py, DEFAULT_VOCAB_PADDING_SIZE


class Sharding(NamedTuple):
    """How one rank's share comes about. ``kv_heads`` are those of the layer, ``pads`` the multiples to which hidden and
    intermediate width of experts in MXFP4 are rounded, ``hidden`` and ``intermediate`` those widths. ``on_load``: the
    element type of linear layers that are quantized while they load."""

    tp: int
    n_ranks: int
    dtype: str
    kv_heads: int = 1
    hidden: int = 1
    intermediate: int = 1
    pads: tuple[int, int] = (1, 1)
    on_load: str | None = None


def heads_per_rank(n_kv_heads: int, tp: int) -> int:
    """KV heads that one rank keeps: replicated where there are fewer than ranks."""
    return max(1, n_kv_heads // tp)


def group_bytes(group: WeightGroup, how: Sharding) -> int:
    """Bytes of one weight group on one rank; tied groups hold none."""
    if group.tied_to:
        return 0
    if how.on_load is not None and group.dtype is None and group.is_linear:
        kind = DTYPES[how.on_load]  # whose blocks run on from row to row
        return group_bytes(group._replace(dtype="uint8"), how._replace(on_load=None)) * kind.block_bytes // kind.block_elems
    kind = DTYPES[_stored_as(group, how.dtype)]
    rows, cols, copies = group.rows, group.cols, group.n_copies
    match group.shard:
        case "vocab":
            rows = ceil_div(ceil_to(rows, VOCAB_STEP), how.tp)
        case "column":
            rows = ceil_div(rows, how.tp)
        case "row":
            cols = ceil_div(cols, how.tp) if cols > 1 else cols
        case "kv":
            rows = rows * heads_per_rank(how.kv_heads, how.tp) // how.kv_heads
        case "expert":
            return _expert_bytes(group, how)
        case "replicated":  # pragma: no branch - the shards end here
            pass
    return copies * rows * kind.row_bytes(cols)


def _expert_bytes(group: WeightGroup, how: Sharding) -> int:
    """Experts: whole ones spread over ranks, or each one's intermediate width."""
    kind = DTYPES[_stored_as(group, how.dtype)]
    whole = group.n_copies * group.rows * kind.row_bytes(group.cols)
    if how.n_ranks != how.tp or how.pads == (1, 1):
        return ceil_div(whole, how.n_ranks)
    share = ceil_to(ceil_div(how.intermediate, how.tp), how.pads[1]) * ceil_to(how.hidden, how.pads[0])
    return whole * share // (how.intermediate * how.hidden)


def _stored_as(group: WeightGroup, dtype: str) -> str:
    """The type of a group: its own where it is quantized or kept apart, else the one that the model runs in."""
    return group.dtype or dtype
