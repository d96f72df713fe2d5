"""Gated delta rule: Qwen3-Next's linear layers, and Kimi's KDA."""

from typing import Literal, NamedTuple


class GatedDeltaNet(NamedTuple):
    """Linear attention with a decaying, corrected K-to-V memory per value head.

    ``state_dtype`` is the element type in which the model's own config asks for the memory, None where it doesn't.
    ``per_channel``: each channel of a key decays by itself (Kimi Delta Attention), not each head as a whole.
    """

    n_k_heads: int
    n_v_heads: int
    k_head_dim: int
    v_head_dim: int
    conv_kernel: int
    state_dtype: str | None = None
    per_channel: bool = False
    kind: Literal["gated_delta"] = "gated_delta"

    @property
    def conv_dim(self) -> int:
        """Channels that pass through the convolution: q, k and v."""
        return 2 * self.n_k_heads * self.k_head_dim + self.n_v_heads * self.v_head_dim

    @property
    def state_elems(self) -> int:
        """Memory per sequence: n_v_heads · k_head_dim · v_head_dim.

        Source: Yang et al. 2024, arXiv:2412.06464 §3.
        """
        return self.n_v_heads * self.k_head_dim * self.v_head_dim

    @property
    def conv_elems(self) -> int:
        """Past inputs that the causal convolution needs: conv_dim · (conv_kernel − 1)."""
        return self.conv_dim * (self.conv_kernel - 1)
