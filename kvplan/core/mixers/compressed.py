"""Attention over a window of plain tokens and a compressed summary of everything older."""

from typing import Literal, NamedTuple

from kvplan.core.indexer import Indexer


class CompressedAttention(NamedTuple):
    """Sliding attention with one shared K=V head, plus one compressed entry per ``ratio`` tokens (DeepSeek-V4).

    ``ratio`` 0 means that the layer keeps the window alone. With an ``indexer`` (compressed sparse attention) each entry
    mixes the tokens of two neighboring blocks, and the indexer keeps a smaller entry of its own beside each.
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

    @property
    def indexer_elems_per_entry(self) -> int:
        """Key elements of the indexer per compressed entry, 0 without one."""
        return self.indexer.head_dim if self.indexer else 0

    def kept_tokens(self, ctx_tokens: int) -> int:
        """Entries needed after ``ctx_tokens``: the window and one per ``ratio`` tokens."""
        return min(ctx_tokens, self.window_tokens) + self.compressed_entries(ctx_tokens)

    def compressed_entries(self, ctx_tokens: int) -> int:
        """Compressed entries after ``ctx_tokens``: one per full block of ``ratio``."""
        return ctx_tokens // self.ratio if self.ratio else 0

    def indexer_elems(self, ctx_tokens: int) -> int:
        """Key elements of the indexer needed after ``ctx_tokens``: as many entries as there are compressed ones."""
        return self.indexer_elems_per_entry * self.compressed_entries(ctx_tokens)

    def pending_elems(self, ctx_tokens: int) -> int:
        """Values and gates of tokens that wait for their block to fill, and of the last full block where blocks overlap.

        Upper bound: right after a block is full none is waiting; a plan must hold the fullest moment.
        Source: DeepSeek-V4 report §2.3.1–2.3.2; transformers 5.24 models/deepseek_v4, DeepseekV4CSACache.
        """
        if not self.ratio:
            return 0
        waiting = min(ctx_tokens, self.ratio - 1)
        rows = 2 * waiting + (self.ratio if ctx_tokens >= self.ratio else 0) if self.indexer else waiting
        return 2 * rows * (self.elems_per_token + self.indexer_elems_per_entry)
