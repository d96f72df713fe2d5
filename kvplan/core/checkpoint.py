"""What the files of a checkpoint hold, as their headers say it: tensors, summed by what they are for."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from kvplan.core.roles import Role

Part = Literal["model", "mtp", "tower", "tied", "buffer"]
"""``model``: what the plain model is made of, scales of quantized tensors included. The rest is there besides:
``mtp``: next-token-prediction layers. ``tower``: an encoder or a voice that the model's class does not build. ``tied``: stored a
second time although the model shares it. ``buffer``: tables that engines compute themselves."""

PARTS: dict[Part, str] = {
    "model": "the model",
    "mtp": "next-token layers",
    "tower": "encoders left out by its class",
    "tied": "what the model shares, stored again",
    "buffer": "tables computed anew",
}
"""The parts in words."""


class Tensor(NamedTuple):
    """One tensor of a header: its element type as in ``DTYPES``, its shape in the file's own order, its bytes there."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    n_bytes: int

    @property
    def n_elems(self) -> int:
        """Elements as the container counts them: eight packed 4-bit weights in an int32 are one."""
        n = 1
        for size in self.shape:
            n *= size
        return n


class Holding(NamedTuple):
    """All tensors of one part, role and element type."""

    part: Part
    role: Role
    dtype: str
    n_tensors: int
    n_elems: int
    n_bytes: int


class Checkpoint(NamedTuple):
    """The files that hold a model's weights.

    ``basis`` is ``headers`` where every tensor is known; with ``file sizes`` there are no holdings and ``n_bytes`` is an
    upper bound. ``tensors`` are kept for GGUF alone, whose engine places them one by one. ``n_bytes`` is the tensors'
    own, without headers and padding; ``file_bytes`` is what the files take on disk.
    """

    format: Literal["safetensors", "gguf", "torch"]
    basis: Literal["headers", "file sizes"]
    n_files: int
    file_bytes: int
    n_bytes: int
    holdings: tuple[Holding, ...] = ()
    tensors: tuple[Tensor, ...] = ()

    def bytes_in(self, *parts: Part) -> int:
        """Bytes of the tensors in ``parts``."""
        return sum(held.n_bytes for held in self.holdings if held.part in parts)

    def facts(self) -> dict[str, object]:
        """Every field but the tensors, of which there may be a hundred thousand."""
        return {name: value for name, value in self._asdict().items() if name != "tensors"}


def summed(tensors: Iterable[tuple[Part, Role, Tensor]]) -> tuple[Holding, ...]:
    """Tensors that are classified already, as holdings in the order of appearance."""
    sums: dict[tuple[Part, Role, str], list[int]] = {}
    for part, role, tensor in tensors:
        held = sums.setdefault((part, role, tensor.dtype), [0, 0, 0])
        held[0] += 1
        held[1] += tensor.n_elems
        held[2] += tensor.n_bytes
    return tuple(Holding(*key, *counts) for key, counts in sums.items())
