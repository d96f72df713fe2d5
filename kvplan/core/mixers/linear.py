"""Plain linear attention with decay: lightning attention, mLSTM."""

from typing import Literal, NamedTuple


class LinearAttention(NamedTuple):
    """A decaying sum of outer products k·v per head (MiniMax-Text-01).

    ``normalizer`` is what each head keeps beside it: nothing in lightning attention; in an mLSTM the decaying sum of
    keys and the largest exponent, k_head_dim + 1.
    """

    n_heads: int
    k_head_dim: int
    v_head_dim: int
    normalizer: int = 0
    kind: Literal["linear"] = "linear"

    @property
    def state_elems(self) -> int:
        """Memory per sequence: n_heads · (k_head_dim · v_head_dim + normalizer).

        Source: Katharopoulos et al. 2020, arXiv:2006.16236 §3.3; MiniMax-01, arXiv:2501.08313 §2.2; Beck et al. 2024,
        arXiv:2405.04517 §2.3.
        """
        return self.n_heads * (self.k_head_dim * self.v_head_dim + self.normalizer)

    @property
    def conv_elems(self) -> int:
        """No convolution."""
        return 0
