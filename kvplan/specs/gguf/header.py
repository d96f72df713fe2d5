"""Headers of GGUF files: keys and tensor table, read by growing ranges and never the data.

Source: ggml docs/gguf.md, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.core.checkpoint import Tensor
from kvplan.specs.gguf.values import Skipped, Value
from kvplan.specs.sources import Source

__all__ = ["Header", "Skipped", "Value", "read_header"]


class Header(NamedTuple):
    """What one file, or all parts of a split one, say of themselves.

    ``values`` are the keys in the file's order. Tensors have GGUF's own order of sizes, the fastest running one first: a
    linear layer's shape is (in, out), an embedding's (hidden, vocabulary). ``n_vocab`` is ``{arch}.vocab_size``, else the
    number of ``tokenizer.ggml.tokens``, else None. ``data_offset`` is where the (first) file's data begins, in bytes.
    """

    version: int
    values: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    n_vocab: int | None
    data_offset: int
    alignment: int


def read_header(source: Source) -> Header:
    """The header of the file at ``source``. Raises RequestError (``bad_gguf``) for what is no whole, sound GGUF file."""
    raise NotImplementedError(source.name)
