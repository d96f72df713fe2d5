"""Weight groups of a GGUF file's tensors, each with the element type it has there."""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import prod

from kvplan.core.checkpoint import Tensor
from kvplan.core.dtypes import DTYPES
from kvplan.core.model import WeightGroup
from kvplan.core.roles import Role
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.names import place, role
from kvplan.specs.gguf.plan import Plan

Block = Mapping[str, Tensor]
"""The tensors of one block by their names inside it."""


def divided(keys: Keys, plan: Plan) -> tuple[list[Block], list[Tensor]]:
    """The tensors of each layer, and those outside: tables, an encoder, next-token layers.

    Raises RequestError for a block that ``block_count`` does not have, and for a layer without any tensor.
    """
    n_layers = len(plan.layers)
    n_blocks = keys.n_blocks if plan.stack == "blk" else n_layers
    blocks: list[dict[str, Tensor]] = [{} for _ in range(n_layers)]
    rest = []
    for tensor in keys.header.tensors:
        at = place(tensor.name)
        if at.stack != plan.stack or n_layers <= at.block < n_blocks:
            rest.append(tensor)
        elif at.block < n_layers:
            blocks[at.block][at.name] = tensor
        else:
            raise keys.contradiction(tensor.name, f"expected a block from 0 to {n_blocks - 1}")
    empty = next((i for i, block in enumerate(blocks) if not block and _has_weights(keys, plan, i)), None)
    if empty is not None:
        raise keys.contradiction(f"{plan.stack}.{empty}.*", "missing: expected tensors of this layer")
    return [*blocks], rest


def _has_weights(keys: Keys, plan: Plan, i: int) -> bool:
    """Whether layer ``i`` does anything: pruned models (Deci) have layers with neither attention nor a feed-forward."""
    pruned = keys.has("feed_forward_length") and not keys.per_layer("feed_forward_length")[i]
    return bool(plan.layers[i].mixers) or not pruned


def commonest(tensors: Iterable[Tensor]) -> str:
    """The element type that most bytes have."""
    sums: Counter[str] = Counter()
    for tensor in tensors:
        sums[tensor.dtype] += tensor.n_bytes
    return max(sums, key=lambda dtype: sums[dtype])


def of_block(block: Block, stored: str, *, recurrent: bool) -> tuple[WeightGroup, ...]:
    """The weights of one layer by name; projections of a ``recurrent`` one are its mixer's, though they are named attn_."""
    groups = (_group(name, tensor, role(name), stored) for name, tensor in sorted(block.items()))
    return tuple(group._replace(role="mixer") if recurrent and group.role == "attention" else group for group in groups)


def outside(tensors: Iterable[Tensor], stored: str) -> tuple[WeightGroup, ...]:
    """The weights outside the layers, under their full names.

    Those of an encoder and of next-token layers, the only blocks that no layer took, are just that, whatever they do there.
    """
    return tuple(_group(tensor.name, tensor, _outside_role(tensor.name), stored) for tensor in tensors)


def _outside_role(name: str) -> Role:
    if name.startswith("enc."):
        return "encoder"
    return "next_token" if place(name).stack else role(name)


def _group(name: str, tensor: Tensor, role: Role, stored: str) -> WeightGroup:
    """The fastest running size makes rows: they are what blocks of elements divide."""
    dtype = None if tensor.dtype == stored else tensor.dtype
    if len(tensor.shape) == 1 and DTYPES[tensor.dtype].block_elems == 1:
        return WeightGroup(name, role, tensor.shape[0], dtype=dtype)
    cols, rows, *copies = (*tensor.shape, 1, 1)
    return WeightGroup(name, role, rows, cols, prod(copies), dtype)
