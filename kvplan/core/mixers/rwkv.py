"""RWKV's time mixing."""

from typing import Literal, NamedTuple


class Rwkv(NamedTuple):
    """A state of head_dim² per head, and the previous token's inputs of both mixing halves.

    ``normalizer`` is what each head keeps beside it: nothing since RWKV-5; RWKV-4, whose heads are one channel wide,
    keeps the denominator and the largest exponent of its running average, 2. ``n_shifts`` is how many inputs of the last
    token a layer mixes with: time mixing alone where another feed-forward stands in the place of channel mixing.
    """

    hidden_size: int
    n_heads: int
    head_dim: int
    normalizer: int = 0
    n_shifts: int = 2
    kind: Literal["rwkv"] = "rwkv"

    @property
    def state_elems(self) -> int:
        """Memory per sequence: n_heads · (head_dim² + normalizer).

        Source: Peng et al. 2024, arXiv:2404.05892 §3; RWKV-4: transformers 5.24 models/rwkv, rwkv_linear_attention_cpu.
        """
        return self.n_heads * (self.head_dim**2 + self.normalizer)

    @property
    def conv_elems(self) -> int:
        """The previous token's inputs of time mixing and channel mixing: n_shifts · hidden_size."""
        return self.n_shifts * self.hidden_size
