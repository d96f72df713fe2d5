"""Attention to another sequence: an encoder's output or an image."""

from typing import Literal, NamedTuple


class CrossAttention(NamedTuple):
    """Attention whose keys and values come from ``source_tokens`` encoder positions, computed once."""

    n_heads: int
    n_kv_heads: int
    head_dim: int
    source_tokens: int
    kind: Literal["cross"] = "cross"

    @property
    def elems_per_token(self) -> int:
        """K and V elements that one layer keeps per source position: 2 · n_kv_heads · head_dim.

        Source: Vaswani et al. 2017, arXiv:1706.03762 §3.2.3.
        """
        return 2 * self.n_kv_heads * self.head_dim

    @property
    def elems_per_sequence(self) -> int:
        """K and V elements of the whole source."""
        return self.source_tokens * self.elems_per_token
