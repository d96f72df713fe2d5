"""Mamba-2's state space duality."""

from typing import Literal, NamedTuple


class Mamba2(NamedTuple):
    """``n_heads`` heads of ``head_dim`` channels, each channel with ``state_dim`` states; B and C shared by groups.

    ``state_dtype`` is the element type in which the model's own config asks for the state, None where it doesn't.
    """

    n_heads: int
    head_dim: int
    state_dim: int
    n_groups: int
    conv_kernel: int
    state_dtype: str | None = None
    kind: Literal["mamba2"] = "mamba2"

    @property
    def inner_dim(self) -> int:
        """Channels: n_heads · head_dim."""
        return self.n_heads * self.head_dim

    @property
    def conv_dim(self) -> int:
        """Channels that pass through the convolution: x, B and C."""
        return self.inner_dim + 2 * self.n_groups * self.state_dim

    @property
    def state_elems(self) -> int:
        """SSM state per sequence: n_heads · head_dim · state_dim.

        Source: Dao & Gu 2024, arXiv:2405.21060 §7.
        """
        return self.inner_dim * self.state_dim

    @property
    def conv_elems(self) -> int:
        """Past inputs that the causal convolution needs: conv_dim · (conv_kernel − 1)."""
        return self.conv_dim * (self.conv_kernel - 1)
