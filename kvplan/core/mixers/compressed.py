"""Attention over a window of plain tokens and a compressed summary of everything older."""

from typing import Literal, NamedTuple

from kvplan.core.indexer import Indexer


class CompressedAttention(NamedTuple):
    """Sliding attention with one shared K=V head, plus one compressed entry per ``ratio`` older tokens (DeepSeek-V4).

    ``ratio`` 0 means that the layer keeps the window alone.
    """

    n_heads: int
    n_kv_heads: int
    head_dim: int
    window_tokens: int
    ratio: int
    indexer: Indexer | None = None
    kind: Literal["compressed"] = "compressed"

    @property
    def elems_per_token(self) -> int:
        """Elements of one plain or compressed entry: n_kv_heads · head_dim; K and V are the same vector."""
        return self.n_kv_heads * self.head_dim

    def kept_tokens(self, ctx_tokens: int) -> int:
        """Entries needed after ``ctx_tokens``: the window and one per ``ratio`` tokens."""
        return min(ctx_tokens, self.window_tokens) + (ctx_tokens // self.ratio if self.ratio else 0)
