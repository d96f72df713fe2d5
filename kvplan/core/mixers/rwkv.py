"""RWKV's time mixing."""

from typing import Literal, NamedTuple


class Rwkv(NamedTuple):
    """A state of head_dim² per head, and the previous token's inputs of both mixing halves."""

    hidden_size: int
    n_heads: int
    head_dim: int
    kind: Literal["rwkv"] = "rwkv"

    @property
    def state_elems(self) -> int:
        """Memory per sequence: n_heads · head_dim².

        Source: Peng et al. 2024, arXiv:2404.05892 §3.
        """
        return self.n_heads * self.head_dim**2

    @property
    def conv_elems(self) -> int:
        """The previous token of time mixing and channel mixing: 2 · hidden_size."""
        return 2 * self.hidden_size
