"""The part of sparse attention that picks tokens; mixers that have one carry it."""

from typing import NamedTuple


class Indexer(NamedTuple):
    """A small key cache, one shared head, that picks the ``top_k`` entries to attend to (DeepSeek-V3.2)."""

    n_heads: int
    head_dim: int
    top_k: int
