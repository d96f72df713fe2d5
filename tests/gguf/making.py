"""Headers of small models, made as values: no file is written or read."""

from collections.abc import Mapping
from math import prod

from kvplan.core.checkpoint import Tensor
from kvplan.core.dtypes import dtype
from kvplan.specs.gguf.header import Header
from kvplan.specs.gguf.values import Value

HIDDEN, N_HEADS, VOCAB = 64, 4, 100
Shapes = Mapping[str, tuple[int, ...]]
NORM: Shapes = {"attn_norm.weight": (HIDDEN,)}


def tensor(name: str, shape: tuple[int, ...], kind: str = "f32") -> Tensor:
    element = dtype(kind.lower())
    return Tensor(name, element.name, shape, prod(shape[1:]) * element.row_bytes(shape[0]))


def header(arch: str, keys: Mapping[str, Value] | None = None, tensors: tuple[Tensor, ...] | None = None, n_layers: int = 4) -> Header:
    """``keys`` without the prefix, beside usual ones; blocks with a norm alone, which every key agrees with."""
    own: dict[str, Value] = {
        "context_length": 1024,
        "embedding_length": HIDDEN,
        "block_count": n_layers,
        "vocab_size": VOCAB,
        "attention.head_count": N_HEADS,
        **(keys or {}),
    }
    values: dict[str, Value] = {"general.architecture": arch, **{f"{arch}.{key}": value for key, value in own.items()}}
    n_blocks = own["block_count"]
    assert isinstance(n_blocks, int)
    return Header(3, values, blocks(n_blocks) if tensors is None else tensors, VOCAB, 0, 32)


def blocks(n: int, shapes: Shapes = NORM, stack: str = "blk", extra: tuple[Tensor, ...] = ()) -> tuple[Tensor, ...]:
    """A token embedding, and the tensors ``shapes`` in each of ``n`` blocks."""
    inside = (tensor(f"{stack}.{i}.{name}", shape) for i in range(n) for name, shape in shapes.items())
    return (tensor("token_embd.weight", (HIDDEN, VOCAB)), *inside, *extra)
