"""Attention inside fixed chunks of the sequence."""

from typing import Literal, NamedTuple


class ChunkedAttention(NamedTuple):
    """Attention in which a token sees the earlier tokens of its own chunk of ``chunk_tokens`` (Llama 4)."""

    n_heads: int
    n_kv_heads: int
    head_dim: int
    v_head_dim: int
    chunk_tokens: int
    kind: Literal["chunked"] = "chunked"

    @property
    def elems_per_token(self) -> int:
        """K and V elements that one layer keeps per token: n_kv_heads · (head_dim + v_head_dim).

        Source: Ainslie et al. 2023, arXiv:2305.13245 §2.
        """
        return self.n_kv_heads * (self.head_dim + self.v_head_dim)

    @property
    def window_tokens(self) -> int:
        """The most tokens that are ever needed at once: one chunk."""
        return self.chunk_tokens

    def kept_tokens(self, ctx_tokens: int) -> int:
        """Upper bound of the tokens still needed after ``ctx_tokens``: a chunk, once one is full.

        Right after a chunk ends fewer are needed; a plan must hold the fullest moment.
        Source: transformers 5.24 masking_utils.py, chunked_overlay.
        """
        return min(ctx_tokens, self.chunk_tokens)
