"""Attention over every earlier token, or over those that an indexer picks among them."""

from typing import Literal, NamedTuple

from kvplan.core.indexer import Indexer


class FullAttention(NamedTuple):
    """Multi-head, grouped-query or multi-query attention: n_kv_heads = n_heads, fewer, or 1.

    With an ``indexer`` (MiniMax-M3) each token attends to a pick of the earlier ones; all must still be kept.
    """

    n_heads: int
    n_kv_heads: int
    head_dim: int
    v_head_dim: int
    indexer: Indexer | None = None
    kind: Literal["full"] = "full"

    @property
    def elems_per_token(self) -> int:
        """K and V elements that one layer keeps per token: n_kv_heads · (head_dim + v_head_dim).

        Source: Ainslie et al. 2023, arXiv:2305.13245 §2 (multi-head attention is n_kv_heads = n_heads).
        """
        return self.n_kv_heads * (self.head_dim + self.v_head_dim)

    def indexer_elems(self, ctx_tokens: int) -> int:
        """Key elements of the indexer needed after ``ctx_tokens``, 0 without one."""
        return self.indexer.elems(ctx_tokens) if self.indexer else 0

    def kept_tokens(self, ctx_tokens: int) -> int:
        """Tokens whose K and V are still needed after ``ctx_tokens``: all of them."""
        return ctx_tokens
