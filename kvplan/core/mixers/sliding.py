"""Attention over the last tokens only."""

from typing import Literal, NamedTuple


class SlidingAttention(NamedTuple):
    """Attention in which a token sees the last ``window_tokens`` tokens, itself included."""

    n_heads: int
    n_kv_heads: int
    head_dim: int
    v_head_dim: int
    window_tokens: int
    kind: Literal["sliding"] = "sliding"

    @property
    def elems_per_token(self) -> int:
        """K and V elements that one layer keeps per token: n_kv_heads · (head_dim + v_head_dim).

        Source: Ainslie et al. 2023, arXiv:2305.13245 §2.
        """
        return self.n_kv_heads * (self.head_dim + self.v_head_dim)

    def kept_tokens(self, ctx_tokens: int) -> int:
        """Tokens whose K and V are still needed: the window, once it is full.

        Source: Beltagy et al. 2020, arXiv:2004.05150 §3.1; Jiang et al. 2023, arXiv:2310.06825 §2.
        """
        return min(ctx_tokens, self.window_tokens)
